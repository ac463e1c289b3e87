"""Both sides read from any format and paired; every way in which files do not fit together is said."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from crfpunct.errors import CorpusError
from crfpunct.scoring import poleval, texts

LINES = ["Ala ma kota, psa.", "Tak - powiedział. Nie?"]


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_lines_are_kept_as_they_stand_whatever_ends_them(tmp_path: Path) -> None:
    odd = ["a  . b\u2028c,", " d\t! ", "e.\x0b"]
    plain = texts.read(write(tmp_path / "a.txt", "\n".join(odd) + "\n"))
    assert plain.lines == odd
    assert plain.places[1] == f"{tmp_path}/a.txt:2"
    for name, content in {
        "crlf.txt": ("\r\n".join(odd) + "\r\n").encode(),
        "bom.txt": b"\xef\xbb\xbf" + ("\n".join(odd)).encode(),
        "a.txt.gz": gzip.compress(("\n".join(odd) + "\n").encode()),
    }.items():
        text = texts.read(write(tmp_path / name, content))
        assert text.lines == odd
        assert text.fingerprint == plain.fingerprint


def test_every_format_of_the_same_text_scores_the_same(tmp_path: Path) -> None:
    reference = texts.Text.of(LINES, "reference")
    files = {
        "a.tsv": "".join(f"id{n}\t{line}\n" for n, line in enumerate(LINES)),
        "a.jsonl": "".join(
            json.dumps({"id": str(n), "words": [{"word": w, "start": 0.0, "end": 0.5} for w in line.split()]}) + "\n"
            for n, line in enumerate(LINES)
        ),
        "a.conll": "Ala O\nma O\nkota ,\npsa .\n\nTak -\npowiedział .\nNie ?\n".replace(" ", "\t"),
        "a.srt": "1\n00:00:01,000 --> 00:00:02,000\nAla ma\nkota, psa.\n\n"
        "2\n00:00:03,000 --> 00:00:04,000\nTak - powiedział. Nie?\n",
    }
    for name, content in files.items():
        matched = texts.pair(reference, texts.read(write(tmp_path / name, content)))
        assert matched.missing == 0, name
        assert all(document.columns.errors == (0, 0, 0) for document in matched.aligned), name
        labels = [label for document in matched.aligned for label in document.hypothesis.labels]
        assert labels == ["", "", ",", ".", "-", ".", "?"], name


def test_documents_with_ids_are_paired_by_them(tmp_path: Path) -> None:
    reference = texts.read(write(tmp_path / "a.tsv", "x\ta.\ny\tb,\n"))
    hypothesis = texts.read(write(tmp_path / "b.tsv", "y\tb,\nx\ta.\n"))
    matched = texts.pair(reference, hypothesis)
    assert matched.lines[0] == matched.lines[1] == ["a.", "b,"]
    assert poleval.counts(*matched.lines).weighted_f1("geval") == pytest.approx(100, abs=1e-9)
    other = texts.read(write(tmp_path / "c.tsv", "y\tb,\nz\ta.\n"))
    with pytest.raises(CorpusError, match=r"c\.tsv: no document with the id 'x', but \S+a\.tsv:1 has one"):
        texts.pair(reference, other)


def test_one_document_against_many_is_joined_unless_it_is_a_line() -> None:
    many, line = texts.Text.of(LINES, "many"), texts.Text.of([" ".join(LINES)], "line")
    single = texts.Text("single", line.lines, line.places, by_line=False)
    joined = texts.pair(many, single)
    assert len(joined.lines[0]) == 1
    assert joined.notes == ["single is one document, so both files are scored as one document."]
    assert texts.pair(many, line).missing == 1
    assert texts.pair(many, line, as_one=True).missing == 0


def test_a_wikipunct_folder_is_read_by_its_gold(tmp_path: Path) -> None:
    write(tmp_path / "in.tsv", "x\ta\n")
    write(tmp_path / "expected.tsv", "A.\n")
    assert texts.read(tmp_path).lines == ["A."]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "a.txt: no text in it"),
        ("a.txt", "\n \n", "a.txt: no text in it"),
        ("a.txt", "ala ma kota.\nb\0.\n", "a.txt:2: holds a NUL byte"),
        ("a.txt", "a.\nż.\n".encode("cp1250"), r"a.txt:2: byte 1 \(0xbf\) is not UTF-8"),
        ("a.txt", "a b.\n".encode("utf-16"), "a.txt: is UTF-16, expected UTF-8; convert it with iconv"),
        ("a.txt", "a b.\n".encode("utf-16le"), "a.txt: is UTF-16LE, expected UTF-8; convert it with iconv"),
        ("a.tsv", "x\ta.\nb.\n", "a.tsv:2: 0 tabs, but other lines are id TAB text"),
        ("a.tsv", "x\ta.\nx\tb.\n", "a.tsv:2: the id 'x' is that of .*a.tsv:1, too"),
        ("a.txt.gz", b"\x1f\x8b\x08\0nothing", "a.txt.gz: damaged archive"),
    ],
)
def test_files_that_cannot_be_scored(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        texts.read(write(tmp_path / name, content))


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such file"):
        texts.read(tmp_path / "nothing.txt")
    with pytest.raises(CorpusError, match="a folder with neither"):
        texts.read(tmp_path)


def test_lines_that_end_in_carriage_returns_alone(tmp_path: Path) -> None:
    (tmp_path / "mac.txt").write_bytes(b"a b.\rc d.\r")
    with pytest.raises(CorpusError, match=r"mac\.txt: its lines end in CR alone, expected LF; convert it with tr"):
        texts.read(tmp_path / "mac.txt")


def test_an_empty_name() -> None:
    with pytest.raises(CorpusError, match=r"^the input has an empty name; name a file, or - for standard input\.$"):
        texts.read("")
