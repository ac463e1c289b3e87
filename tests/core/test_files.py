"""Bytes in and out: every way in which an input can be bad, and outputs that are whole or not there."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import stat
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfpunct.errors import CorpusError
from crfpunct.files import check_text, decode, open_input, open_output, read_lines, signature

COMPRESS = {".txt": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".GZ": gzip.compress}


def read(path) -> bytes:
    with open_input(path) as stream:
        return stream.read()


# ---------------------------------------------------------------- inputs


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_files_are_read_as_they_are(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(COMPRESS[suffix](b"dzie\xc5\x84\n"))
    assert read(path) == read(str(path)) == b"dzie\xc5\x84\n"


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"tak\n")))
    assert read("-") == b"tak\n"


def test_a_missing_file(tmp_path):
    with pytest.raises(CorpusError, match=r"a\.txt: no such file; check the path\.$"):
        read(tmp_path / "a.txt")


def test_a_folder_instead_of_a_file(tmp_path):
    with pytest.raises(CorpusError, match=r": is a folder, expected a file; name one of the files in it\.$"):
        read(tmp_path)


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")  # by hand, since root may read everything

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(CorpusError) as caught:
        read(tmp_path / "a.txt")
    assert str(caught.value).endswith("a.txt: cannot be read (Permission denied); check the path and its permissions.")


def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CorpusError, match=r"a\.txt: cannot be read \(Not a directory\); check the path and its perm"):
        read(tmp_path / "file" / "a.txt")


def test_an_error_inside_is_not_blamed_on_the_file(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(FileNotFoundError, match="other"), open_input(tmp_path / "a.txt"):
        (tmp_path / "other").read_text()
    with pytest.raises(PermissionError, match="denied"), open_input(tmp_path / "a.txt"):
        raise PermissionError(13, "Permission denied")


TEXT = b"a text of some length, so that there is something to damage\n" * 40


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda raw: raw[: len(raw) // 2], id="truncated"),
        pytest.param(lambda raw: raw[:-1], id="last byte missing"),
        pytest.param(lambda _raw: b"plain text", id="not compressed"),
        pytest.param(lambda raw: raw[:14] + bytes([raw[14] ^ 0xFF]) + raw[15:], id="inside"),
        pytest.param(lambda raw: raw[:-6] + bytes(b ^ 0xFF for b in raw[-6:]), id="checksum"),
    ],
)
def test_a_damaged_archive(tmp_path, suffix, damage):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(damage(COMPRESS[suffix](TEXT)))
    with pytest.raises(CorpusError, match=rf"a{suffix}: damaged {suffix} file \(.*\); fetch or compress it again\.$"):
        read(path)


# ---------------------------------------------------------------- lines

lines = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=8))


@given(lines.filter(lambda drawn: not drawn or not drawn[0].startswith("\ufeff")), st.sampled_from(["\n", "\r\n"]))
def test_lines_are_numbered_and_keep_all_but_their_end(drawn, end):
    drawn = [line.rstrip("\r") for line in drawn]
    raw = "".join(line + end for line in drawn).encode()
    assert list(read_lines(io.BytesIO(raw), "f")) == list(enumerate(drawn, 1))
    assert list(read_lines(io.BytesIO(b"\xef\xbb\xbf" + raw), "f")) == list(enumerate(drawn or [], 1)) or not drawn


def test_only_line_feeds_end_a_line():
    raw = "\ufeffa\u2028b\x85c\rd\r\ne\ufeff\n\nlast".encode()
    assert list(read_lines(io.BytesIO(raw), "f")) == [(1, "a\u2028b\x85c\rd"), (2, "e\ufeff"), (3, ""), (4, "last")]


def test_a_byte_that_is_not_utf8_is_named_with_its_line():
    found = read_lines(io.BytesIO("tak\nżółw ".encode() + b"\xb3"), "f.txt")
    assert next(found) == (1, "tak")
    with pytest.raises(CorpusError, match=r"^f\.txt:2: byte 9 \(0xb3\) is not UTF-8; convert the file, .* iconv -f"):
        next(found)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("ala".encode("utf-16"), "is UTF-16, expected UTF-8; convert it with iconv -f UTF-16 -t UTF-8."),
        ("ala".encode("utf-16le"), "is UTF-16LE, expected UTF-8; convert it with iconv -f UTF-16LE -t UTF-8."),
        ("żółw ala".encode("utf-16be"), "is UTF-16BE, expected UTF-8; convert it with iconv -f UTF-16BE -t UTF-8."),
        (b"\0\0\1\2\0\0\0", "is a file of many NUL bytes, expected text as UTF-8; unpack it or name the text itself."),
        (gzip.compress(b"a"), "is gzip data, expected text as UTF-8; unpack it or name the text itself."),
        (lzma.compress(b"a"), "is xz data, expected text as UTF-8; unpack it or name the text itself."),
    ],
)
def test_what_is_no_text_is_named(head, message):
    with pytest.raises(CorpusError) as caught:
        check_text(head, "a.txt")
    assert str(caught.value) == f"a.txt: {message}"


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_text_is_text(text):
    if not signature(text.encode()):
        check_text(text.encode(), "a.txt")


def test_utf16_is_named_where_a_line_is_decoded():
    with pytest.raises(CorpusError, match=r"^a\.txt:1: is UTF-16, expected UTF-8; convert it with iconv"):
        decode("ala".encode("utf-16"), "a.txt:1")


@given(st.binary(max_size=20))
def test_bytes_are_decoded_as_python_does_or_refused(raw):
    try:
        expected = raw.decode()
    except UnicodeDecodeError as error:
        named = rf"^here: (byte {error.start + 1} \(0x{raw[error.start]:02x}\) is not|is UTF-16|is .* expected text)"
        with pytest.raises(CorpusError, match=named):
            decode(raw, "here")
    else:
        assert decode(raw, "here") == expected


# ---------------------------------------------------------------- outputs


class Interrupted(BaseException):
    """Such as KeyboardInterrupt."""


def write(path, *texts, failing=None):
    with open_output(path) as stream:
        for text in texts:
            stream.write(text)
        if failing:
            raise failing


def test_an_output_is_utf8_with_the_line_ends_that_were_written(tmp_path):
    write(tmp_path / "out.txt", "żółw\n", "tak\r\n")
    assert (tmp_path / "out.txt").read_bytes() == "żółw\ntak\r\n".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_an_output_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "usual").write_text("")
    write(tmp_path / "ours", "")
    assert stat.S_IMODE(os.stat(tmp_path / "ours").st_mode) == stat.S_IMODE(os.stat(tmp_path / "usual").st_mode)


@pytest.mark.parametrize("failing", [CorpusError("bad line"), OSError(28, "No space left"), Interrupted()])
def test_nothing_is_left_behind_after_an_exception(tmp_path, failing):
    with pytest.raises(type(failing)):
        write(tmp_path / "out.txt", "half of ", failing=failing)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("failing", [CorpusError("bad line"), Interrupted()])
def test_an_old_file_stays_as_it_was_until_the_new_one_is_whole(tmp_path, failing):
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(type(failing)):
        write(path, "new", failing=failing)
    assert path.read_text() == "old"
    with open_output(path) as stream:
        stream.write("new")
        stream.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("folder", ["missing", "file"])
def test_a_folder_that_cannot_be_written_into(tmp_path, folder):
    (tmp_path / "file").write_text("")
    with pytest.raises(CorpusError, match=r"out\.txt: cannot be written \(.+\); check the folder\.$"):
        write(tmp_path / folder / "out.txt", "x")


def test_a_folder_in_place_of_the_output(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(CorpusError, match=r"out: is a folder, expected the name of a file to write; add one\.$"):
        write(tmp_path / "out", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_dash_is_standard_output(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1", newline="\r\n"))
    write("-", "żółw\n")
    assert raw.getvalue() == "żółw\n".encode()


def test_a_link_stays_and_what_it_points_at_is_replaced(tmp_path):
    (tmp_path / "real.txt").write_text("old", encoding="utf-8")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with open_output(tmp_path / "link.txt") as out:
        out.write("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text(encoding="utf-8") == "new"


def test_a_named_pipe_is_written_to_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with open_output(tmp_path / "pipe") as out:
        out.write("ala")
    assert os.read(reader, 10) == b"ala"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("opened", ["stdin", "stdout"])
def test_standard_streams_that_are_closed(opened, monkeypatch):
    monkeypatch.setattr(sys, opened, None)
    opener = open_input if opened == "stdin" else open_output
    with pytest.raises(CorpusError, match="there is no standard"), opener("-"):
        pass


@pytest.mark.parametrize("suffix", COMPRESS)
def test_an_output_is_compressed_as_its_name_says_and_always_in_the_same_way(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    written = []
    for _ in range(2):
        with open_output(path) as stream:
            stream.write("dzień\n")
        written.append(path.read_bytes())
        assert read(path) == "dzień\n".encode()
    assert written[0] == written[1]
    assert (written[0] == "dzień\n".encode()) == (suffix == ".txt")
