"""What all formats share: choosing one, compressed and piped inputs, the word promise, gold labels."""

import gzip
import io
import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crfpunct import formats
from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.marks import Typography

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
PLAIN = Typography()


def written(documents, format, typography=PLAIN):
    out = io.StringIO()
    formats.write(documents, out, format, typography)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "head", "format"),
    [
        ("a.txt", b"x\ty", "text"),
        ("a.txt.gz", b"", "text"),
        ("a.clntmstmp", b"", "clntmstmp"),
        ("a.CLNTMSTMP.xz", b"", "clntmstmp"),
        ("in.tsv", b"id1\tala ma\nid2\t\n", "wikipunct"),
        ("expected.tsv", b"ala ma kota.\n", "wikipunct"),
        ("-", b"id1\tala ma kota\n", "wikipunct"),
        ("-", b"id1\tala ma kota\nid2 tak\nid3\tnie\n", "wikipunct"),  # whose reader names line 2
        ("-", b"id1\tala\nma kota\n", "text"),
        ("-", b"ala ma kota\n", "text"),
        ("-", b"(0,30) ala\n(30,30) ma\n", "clntmstmp"),
        ("-", b"", "text"),
        ("novel", b"a word\tand more\n", "text"),
    ],
)
def test_guess(name, head, format):
    assert formats.guess(name, head) == format


@pytest.mark.parametrize("name", formats.names())
def test_every_format_has_a_module_with_the_three_functions(name):
    module = formats.module(name)
    assert callable(module.read)
    assert callable(module.write)
    assert module.sniff(b"\0\xff\xfe") is False


def test_identify_uses_nothing_up(tmp_path, monkeypatch):
    (tmp_path / "in.tsv").write_text("id1\ttak nie\n")
    assert formats.identify(tmp_path) == "wikipunct"
    for stdin in (io.BytesIO(b"tak nie\n"), io.BufferedReader(io.BytesIO(b"tak nie\n"))):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
        assert formats.identify("-") == "text"
        assert [document.words for document in formats.read("-")] == [["tak", "nie"]]


def test_unknown_format():
    with pytest.raises(CorpusError, match=r"unknown format 'docx'; the formats are .*text"):
        next(formats.read(EXAMPLES / "rozmowa.txt", "docx"))


def test_compressed_inputs_are_read_as_they_are(tmp_path):
    text = (EXAMPLES / "rozmowa.txt").read_bytes()
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text))
    (tmp_path / "a.txt.xz").write_bytes(lzma.compress(text))
    expected = [document.words for document in formats.read(EXAMPLES / "rozmowa.txt")]
    for name in ("a.txt.gz", "a.txt.xz"):
        assert [document.words for document in formats.read(tmp_path / name)] == expected


def test_damaged_gzip(tmp_path):
    raw = bytearray(gzip.compress(os.urandom(4000).hex().encode(), mtime=0))
    raw[30] ^= 0xFF
    (tmp_path / "a.txt.gz").write_bytes(raw)
    with pytest.raises(CorpusError, match=r"a\.txt\.gz: damaged"):
        list(formats.read(tmp_path / "a.txt.gz"))


def test_standard_input_is_read_as_it_comes():
    code = "from crfpunct import formats\nfor d in formats.read('-'): print(len(d.words), flush=True)"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
        child.stdin.write("dzień dobry\n".encode())
        assert child.stdout.readline() == b"2\n"  # while the pipe is still open
        child.stdin.write(b"a b c\n")
        assert child.stdout.readline() == b"3\n"


def test_formats_are_imported_when_used():
    code = (
        "import sys; from crfpunct import formats; list(formats.read(sys.argv[1])); "
        "print('crfpunct.formats.clntmstmp' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, EXAMPLES / "rozmowa.txt"], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "False\n"


def test_a_folder_without_texts(tmp_path):
    with pytest.raises(CorpusError, match=r"a folder with neither in\.tsv nor \.clntmstmp files; name one"):
        next(formats.read(tmp_path))


@pytest.mark.parametrize("word", ["", "a b", "a\tb", "a\nb", "\r", "\v", "\f", " a", "a "])
@pytest.mark.parametrize("format", formats.names())
def test_words_that_would_be_read_back_otherwise_are_refused(word, format):
    document = Document("id", ["ala", word], source="in.txt:3")
    with pytest.raises(CorpusError, match=r"in\.txt:3: the word '.*' would not be read back as it is"):
        written([document], format)


def test_an_empty_word_does_not_hide_behind_one_with_a_space():
    with pytest.raises(CorpusError, match="would not be read back"):
        written([Document("", ["", "a b"])], "text")


def test_a_mark_that_is_no_mark_is_refused():
    with pytest.raises(CorpusError, match=r"in\.txt:1: ' kota' is no mark"):
        written([Document("", ["ala"], marks=[" kota"], source="in.txt:1")], "text")


def test_marks_and_words_of_different_number():
    with pytest.raises(CorpusError, match="1 marks for 2 words"):
        written([Document("", ["ala", "ma"], marks=["."])], "text")


def test_gold_text_becomes_words_and_labels(tmp_path):
    (tmp_path / "a.txt").write_text("Tak?! – zapytał… Koniec .\n", encoding="utf-8")
    [document] = formats.read_punctuated(tmp_path / "a.txt")
    assert document.words == ["Tak", "zapytał", "Koniec"]
    assert document.marks == ["-", "...", "."]


def test_gold_with_times_loses_the_times_of_lone_marks(tmp_path):
    (tmp_path / "a.clntmstmp").write_text("(0,30) tak\n(30,30) .\n(60,90) nie,\n</s>\n")
    [document] = formats.read_punctuated(tmp_path / "a.clntmstmp")
    assert document.check().words == ["tak", "nie"]
    assert document.marks == [".", ","]
    assert document.times_ms.tolist() == [[0, 30], [60, 90]]


def test_the_examples_hold_the_same_words():
    text = list(formats.read(EXAMPLES / "rozmowa.txt"))
    corpus = list(formats.read_punctuated(EXAMPLES / "wikipunct"))
    timed = list(formats.read(EXAMPLES / "wikipunct" / "fa"))
    assert len(text) == 4
    for plain, gold, with_times in zip(text, corpus, timed, strict=True):
        assert plain.words == gold.words == with_times.words
        assert gold.id == with_times.id
    joined = Typography(frozenset({"polsko"}))
    cased = (EXAMPLES / "rozmowa.gold.txt").read_text(encoding="utf-8")
    assert written(corpus, "text", joined) == cased.lower()


@pytest.mark.parametrize("name", ["srt", "vtt", "ctm", "vosk.jsonl", "whisper.json"])
def test_the_examples_of_other_formats_come_back_byte_for_byte(name):
    path = EXAMPLES / f"rozmowa.{name}"
    documents = list(formats.read(path))
    words = [word for document in documents for word in document.words]
    assert words == (EXAMPLES / "rozmowa.txt").read_text(encoding="utf-8").split()
    assert written(documents, formats.identify(path)).encode() == path.read_bytes()


def test_an_empty_name_is_not_the_current_folder():
    for reading in (formats.identify, lambda name: next(formats.read(name))):
        with pytest.raises(CorpusError, match=r"^the input has an empty name; name a file, or - for standard input\.$"):
            reading("")


@pytest.mark.parametrize("name", ["a.ass", "a.TTML", "a.lrc"])
def test_other_formats_are_not_taken_for_text(tmp_path, name):
    (tmp_path / name).write_text("[Script Info]\n")
    with pytest.raises(CorpusError, match=r"files of the kind \.\w+ are not read; convert it, for example to \.srt"):
        list(formats.read(tmp_path / name))
    assert [document.words for document in formats.read(tmp_path / name, "text")] == [["[Script", "Info]"]]


def test_a_suffix_of_several_formats_names_none():
    assert formats.output_format("b.jsonl", "jsonl") == "jsonl"
    assert formats.output_format("b.tsv", "text") == "text"
    with pytest.raises(
        CorpusError, match=r"^b\.json: its suffix is that of tags, .*whisper; choose one of them with --to"
    ):
        formats.output_format("b.json", "srt")


def test_an_empty_gz_file_is_damaged(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(b"")
    with pytest.raises(CorpusError, match=r"a\.txt\.gz: damaged \.gz file \(it is empty\)"):
        list(formats.read(tmp_path / "a.txt.gz"))
