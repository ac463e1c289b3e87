"""Forced alignments: single files, folders, archives, and putting times on texts."""

import bz2
import gzip
import io
import lzma
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfpunct import formats
from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.formats import clntmstmp
from crfpunct.formats.clntmstmp import Times
from crfpunct.marks import Typography

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "wikipunct"
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\v\f\ufeff"), min_size=1)
spans = st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)).map(sorted) | st.sampled_from(
    [[-1, -1], [5, -1], [-1, 5]]
)


def read(raw, source="a/b.clntmstmp"):
    [document] = clntmstmp.read(io.BytesIO(raw), source)
    return document.check()


def archive(path, members, compress=gzip.compress):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            if content is None:
                member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    path.write_bytes(compress(raw.getvalue()))
    return path


def attached(source, *texts):
    times = Times(source)
    return list(times.attach(Document(id, text.split()) for id, text in texts)), times.notes()


def test_reads_a_file():
    document = read('\ufeff(0,300) dzień\r\n\r\n(300,300) z\n(240,900) "\n(-1,-1) bobrem\n</s>\n\n'.encode())
    assert document.id == "b"
    assert document.words == ["dzień", "z", '"', "bobrem"]
    assert document.times_ms.tolist() == [[0, 300], [300, 300], [240, 900], [-1, -1]]


def test_an_empty_file_is_an_empty_document():
    assert read(b"</s>\n").times_ms.shape == (0, 2)


@given(st.lists(st.tuples(words.filter(lambda word: word != "</s>"), spans)))
def test_what_is_written_is_read_back(tokens):
    import numpy as np

    times = np.array([span for _, span in tokens], dtype=np.int64).reshape(-1, 2)
    out = io.StringIO()
    formats.write([Document("b", [word for word, _ in tokens], times)], out, "clntmstmp", Typography())
    document = read(out.getvalue().encode())
    assert document.words == [word for word, _ in tokens]
    assert document.times_ms.tolist() == times.tolist()


def test_writes_marks_and_unknown_times():
    out = io.StringIO()
    formats.write([Document("", ["tak"], marks=["."])], out, "clntmstmp", Typography())
    assert out.getvalue() == "(-1,-1) tak.\n</s>\n"


def test_a_file_holds_one_text():
    with pytest.raises(CorpusError, match=r"in\.txt:2: a \.clntmstmp file holds one text and this is the second"):
        clntmstmp.write([Document("", []), Document("", [], source="in.txt:2")], io.StringIO(), Typography())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("(0,300 ala", r"b\.clntmstmp:2: found '\(0,300 ala', expected \(start,end\) word with times in ms"),
        ("(0,300)", "expected .start,end. word"),
        ("(0,300) ala ma", "expected .start,end. word"),
        ("(0.5,300) ala", "expected .start,end. word"),
        ("(0,9999999999) ala", "expected .start,end. word"),
        ("(300,270) ala", r"b\.clntmstmp:2: the word 'ala' ends at 270 ms, before it starts \(300 ms\)"),
    ],
)
def test_line_errors(line, message):
    with pytest.raises(CorpusError, match=message):
        read(f"(0,0) a\n{line}\n".encode())


def test_not_utf8():
    with pytest.raises(CorpusError, match=r"b\.clntmstmp:1: byte 9 \(0xb3\) is not UTF-8"):
        read(b"(0,30) a\xb3\n")


@pytest.mark.parametrize("packed", [False, True])
def test_times_by_id_from_folders_and_archives(tmp_path, packed):
    source = EXAMPLE / "fa"
    if packed:
        members = {f"train/{path.name}": path.read_bytes() for path in source.iterdir()}
        source = archive(tmp_path / "fa.tar.gz", {**members, "train/readme": b"\xff", "train/x.clntmstmp": None})
    times = Times(source)
    documents = list(times.attach(formats.read(EXAMPLE)))
    for document, alone in zip(documents, formats.read(EXAMPLE / "fa"), strict=True):
        assert document.times_ms.tolist() == alone.times_ms.tolist()
    assert times.notes() == []


def test_missing_files_and_other_words_are_told(tmp_path):
    archive(
        tmp_path / "fa.tar.gz",
        {
            "fa/a.clntmstmp": b"(0,30) ala\n(30,60) 1015b\n(60,90) ma\n</s>\n",
            "fa/b.clntmstmp": b"(0,30) Tak,\n(30,30) .\n(60,90) nie\n</s>\n",
            "fa/empty.clntmstmp": b"</s>\n",
        },
    )
    documents, notes = attached(
        tmp_path / "fa.tar.gz", ("a", "ala 1015bq ma kota"), ("b", "tak nie"), ("c", "co"), ("empty", "")
    )
    assert documents[0].times_ms.tolist() == [[0, 30], [-1, -1], [60, 90], [-1, -1]]
    assert documents[1].times_ms.tolist() == [[0, 30], [60, 90]]
    assert documents[2].times_ms is None
    assert documents[3].times_ms.shape == (0, 2)
    assert notes == [
        f"1 of 4 texts have no word times in {tmp_path / 'fa.tar.gz'} (c); their text alone is used.",
        f"1 of 4 texts have other words in {tmp_path / 'fa.tar.gz'} (a); "
        "aligned by words, which leaves 2 without times.",
    ]


def test_ids_are_no_paths(tmp_path):
    (tmp_path / "secret.clntmstmp").write_text("(0,30) a\n")
    (tmp_path / "fa").mkdir()
    (tmp_path / "fa" / "b.clntmstmp").write_text("(0,30) a\n")
    documents, _ = attached(tmp_path / "fa", ("../secret", "a"))
    assert documents[0].times_ms is None


def test_archive_errors_name_the_member(tmp_path):
    path = archive(tmp_path / "fa.tar.gz", {"fa/a.clntmstmp": b"(0,30) a\nwrong\n"})
    with pytest.raises(CorpusError, match=r"fa\.tar\.gz\(fa/a\.clntmstmp\):2: found 'wrong'"):
        Times(path)


def test_second_file_for_a_text(tmp_path):
    path = archive(tmp_path / "fa.tar.gz", {"1/a.clntmstmp": b"</s>\n", "2/a.clntmstmp": b"</s>\n"})
    with pytest.raises(CorpusError, match=r"a second file for the text a; keep one"):
        Times(path)


def test_nothing_in_it(tmp_path):
    with pytest.raises(CorpusError, match=r"no \.clntmstmp file in it; name the folder or archive"):
        Times(tmp_path)


@pytest.mark.parametrize("damage", ["cut", "flipped", "no tar", "garbled header"])
def test_damaged_archives(tmp_path, damage):
    import random

    line = "".join(f"({t},{t + 30}) s{random.Random(t).random()}\n" for t in range(0, 30000, 30)).encode()
    path = archive(tmp_path / "fa.tar.gz", {f"fa/{i}.clntmstmp": line for i in "abc"})
    raw = bytearray(path.read_bytes())
    if damage == "cut":
        raw = raw[: len(raw) // 2]
    elif damage == "flipped":
        raw[len(raw) // 2] ^= 0xFF
    elif damage == "no tar":
        raw = gzip.compress(b"no archive at all" * 100)
    else:
        tar = bytearray(gzip.decompress(raw))
        second = tar.index(b"fa/b.clntmstmp")
        tar[second : second + 300] = b"\xff" * 300
        raw = gzip.compress(tar)
    path.write_bytes(raw)
    with pytest.raises(CorpusError, match=r"fa\.tar\.gz: damaged"):
        Times(path)


def test_bombs(tmp_path, monkeypatch):
    monkeypatch.setattr(clntmstmp, "MAX_MEMBER_BYTES", 1 << 20)
    path = archive(tmp_path / "fa.tar.gz", {"fa/a.clntmstmp": b"\n" * (2 << 20)})
    with pytest.raises(CorpusError, match=r"\(fa/a\.clntmstmp\): 2097152 bytes, expected at most 1 MB for one text"):
        Times(path)
    monkeypatch.setattr(clntmstmp, "MAX_ARCHIVE_BYTES", 1 << 20)
    path = archive(tmp_path / "skipped.tar.gz", {"fa/readme": b"\0" * (2 << 20)})
    with pytest.raises(CorpusError, match=r"skipped\.tar\.gz: unpacks to more than 1 MB; use a folder"):
        Times(path)


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".tar", bytes),
        (".tar.gz", gzip.compress),
        (".tgz", gzip.compress),
        (".tar.xz", lzma.compress),
        (".txz", lzma.compress),
    ],
)
def test_archives_by_their_names(tmp_path, suffix, compress):
    path = archive(tmp_path / f"fa{suffix}", {"fa/a.clntmstmp": b"(0,30) ala\n</s>\n"}, compress)
    [document], _ = attached(path, ("a", "ala"))
    assert document.times_ms.tolist() == [[0, 30]]


@pytest.mark.parametrize(
    ("name", "raw", "found"),
    [
        ("fa.tar.bz2", bz2.compress(b"x"), "bzip2 data"),
        ("fa.zip", b"PK\x03\x04\0", "a zip archive"),
        ("fa.tar", gzip.compress(b"x" * 600), "gzip data"),
    ],
)
def test_other_archives_are_named(tmp_path, name, raw, found):
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(CorpusError) as caught:
        Times(tmp_path / name)
    assert str(caught.value) == (
        f"{tmp_path / name}: is {found}, expected a folder, or a .tar, .tar.gz or .tar.xz archive, of .clntmstmp "
        "files; unpack it, or pack it anew."
    )


def test_a_member_that_claims_a_terabyte_is_refused_at_once(tmp_path):
    header = tarfile.TarInfo("fa/readme")
    header.size = 1 << 40
    (tmp_path / "fa.tar").write_bytes(header.tobuf(tarfile.GNU_FORMAT) + b"\0" * 10240)
    with pytest.raises(CorpusError, match=r"\(fa/readme\): 1099511627776 bytes, expected at most 512 MB in the whole"):
        Times(tmp_path / "fa.tar")
