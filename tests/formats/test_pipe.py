"""Pipes that stay open: what is there is given, and nothing is waited for that need not be."""

import os

import pytest

from crfpunct import formats
from crfpunct.formats.pipe import Pipe


@pytest.fixture
def pipe():
    """A pipe, a function that writes into it (None: close it), and what was told before waiting."""
    reading, writing = os.pipe()
    waited = []

    def write(raw):
        if raw is None:
            os.close(writing)
        else:
            os.write(writing, raw)

    yield Pipe(reading, lambda: waited.append(True)), write, waited
    os.close(reading)


def test_lines_that_are_there_are_given_without_waiting(pipe):
    stream, write, waited = pipe
    assert not stream.ready()
    write(b"a\nb")
    assert stream.ready()
    assert stream.readline() == b"a\n"
    assert not stream.ready()
    write(b"c\n\nd")
    assert [stream.readline(), stream.readline()] == [b"bc\n", b"\n"]
    assert not stream.ready()
    assert waited == []
    write(None)
    assert stream.ready()
    assert list(stream) == [b"d"]
    assert stream.readline() == b""
    assert stream.ready()


def test_before_it_waits_it_says_so(pipe, monkeypatch):
    stream, write, waited = pipe
    monkeypatch.setattr(stream, "_before_waiting", lambda: (waited.append(True), write(b"a\n")))
    assert stream.readline() == b"a\n"
    assert waited == [True]


def test_what_was_looked_at_is_still_there(pipe):
    stream, write, _ = pipe
    write(b"a\tb\nc")
    assert stream.peek(100) == b"a\tb\nc"
    assert stream.peek(2) == b"a\t"
    write(None)
    assert stream.read() == b"a\tb\nc"
    assert stream.peek() == b""


def test_the_head_of_a_long_line_is_enough(pipe):
    stream, write, waited = pipe
    write(b"x" * 50)
    assert stream.peek(50) == b"x" * 50
    assert waited == []


def test_chunks_come_as_they_come(pipe):
    stream, write, _ = pipe
    write(b"a\nb ")
    chunks = stream.chunks()
    assert next(chunks) == b"a\nb "
    write(b"c")
    assert next(chunks) == b"c"
    write(None)
    assert list(chunks) == []


def test_where_nothing_can_be_asked_nothing_is_ready(pipe, monkeypatch):
    # On Windows, select knows sockets only.
    stream, write, _ = pipe
    monkeypatch.setattr("select.select", lambda *_: (_ for _ in ()).throw(OSError))
    write(b"a\n")
    assert not stream.ready()
    assert stream.readline() == b"a\n"


def test_a_format_is_found_out_and_read(pipe):
    stream, write, _ = pipe
    write(b"text1\tala ma\n")
    assert formats.identify("-", stream) == "wikipunct"
    documents = formats.read("-", None, stream)
    assert next(documents).words == ["ala", "ma"]
    write(b"text2\tkota\n")
    assert next(documents).id == "text2"
    write(None)
    assert list(documents) == []


def test_files_are_no_pipes(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("a")
    with open(tmp_path / "a", encoding="utf-8") as file:
        monkeypatch.setattr("sys.stdin", file)
        assert Pipe.of_standard_input(print) is None
    monkeypatch.setattr("sys.stdin", None)
    assert Pipe.of_standard_input(print) is None


def test_the_first_line_of_printed_json_does_not_tell_a_format(pipe, monkeypatch):
    stream, write, _ = pipe
    write(b"{\n")
    monkeypatch.setattr(stream, "_before_waiting", lambda: write(b'  "result": [\n'))
    assert formats.guess("-", stream.peek()) == "vosk"
    assert stream.readline() == b"{\n"
