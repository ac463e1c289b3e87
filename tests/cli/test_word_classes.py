"""`crfpunct word-classes`, as a user types it, and everything that can be wrong with what is given."""

from __future__ import annotations

import lzma
import random
import sys
from pathlib import Path

import pytest

from crfpunct import clusters
from crfpunct.cli import main
from crfpunct.clusters.backend import ScikitLearn


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run the program in an empty folder; gives its exit code, output and messages."""
    monkeypatch.chdir(tmp_path)

    def program(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["crfpunct", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return program


@pytest.fixture
def text(tmp_path) -> Path:
    """Five hundred lines of who did what, punctuated, with compounds and quotation signs."""
    draw = random.Random(0)
    people, doing = ["Ala", "Jan", "Ewa", "Piotr"], ["widział", "czytał", "malował", "zjadał"]
    things = ["książkę", "gazetę", "zupę", "łódkę"]
    made = [f"{draw.choice(people)} „{draw.choice(doing)}” {draw.choice(things)}.\n" for _ in range(500)]
    path = tmp_path / "a.txt"
    path.write_text("".join([*made, *["biało-czerwony, biało-zielony\n"] * 5]), encoding="utf-8")
    return path


def rows(text: str) -> dict[str, list[str]]:
    return {line.split("\t")[0]: line.split("\t")[1:] for line in text.splitlines() if not line.startswith("#")}


def classes_of(table: dict[str, list[str]], word: str) -> list[str]:
    """As a lexicon finds them."""
    return table.get(word) or next(table[f"*{word[i:]}"] for i in range(len(word) + 1) if f"*{word[i:]}" in table)


SMALL = ["--classes", "2,4", "--min-count", "3", "--dimensions", "5", "--device", "cpu"]


@pytest.mark.usefixtures("text")
def test_a_file_of_classes(run, tmp_path):
    code, out, err = run("word-classes", tmp_path / "a.txt", "--out", "c.txt", *SMALL, "--licence", "CC0")
    assert (code, out) == (0, "")
    notes = err.splitlines()
    assert notes[0] == "crfpunct: device cpu, as asked."
    assert notes[1].startswith("crfpunct: 2,025 words and marks, 17 of them different; 17 classed by ")
    assert "c.txt: " in notes[2]
    written = (tmp_path / "c.txt").read_text(encoding="utf-8")
    comments = [line for line in written.splitlines() if line.startswith("#")]
    assert comments[1].startswith("# Learned from 2,025 words and marks, ")
    assert comments[2] == "# crfpunct word-classes a.txt --out c.txt " + " ".join(SMALL) + " --licence CC0"
    assert comments[3] == "# Licence: CC0."
    table = rows(written)
    assert {len(classes) for classes in table.values()} == {2}
    kinds = [{tuple(classes_of(table, word)) for word in kind.split()} for kind in ("ala jan ewa", "czytał widział")]
    assert kinds[0].isdisjoint(kinds[1])
    assert [len(kind) for kind in kinds] == [1, 1]
    # Compounds are their parts; quotation signs belong to no word; marks have no class.
    assert not any(set(word) & set("-„”.,") for word in table)


@pytest.mark.usefixtures("text")
def test_the_same_file_again_and_compressed(run, tmp_path):
    contents = []
    for name in ("c.txt", "c.txt", "c.txt.xz"):
        code, _, err = run("word-classes", "a.txt", "--out", name, *SMALL, "--force")
        assert code == 0, err
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1]
    assert rows(lzma.decompress(contents[2]).decode()) == rows(contents[0].decode())


@pytest.mark.usefixtures("text")
def test_several_files_and_a_format(run, tmp_path):
    (tmp_path / "b.tsv").write_text("t1\tola rysował mapę\n" * 1 + "t2\tola rysował plan\n", encoding="utf-8")
    code, _, err = run("word-classes", "a.txt", "b.tsv", "--out", "c.txt", *SMALL)
    assert code == 0
    assert "2,031 words" in err
    code, _, err = run("word-classes", "a.txt", "--from", "wikipunct", "--out", "d.txt", *SMALL)
    assert code == 0
    assert "2,025 words" in err


@pytest.mark.usefixtures("text")
def test_the_device_is_taken_at_its_word(run, monkeypatch):
    class OnTheCard(ScikitLearn):
        name = "cuda"

    monkeypatch.setitem(clusters.BACKENDS, "cuda", OnTheCard)
    small = SMALL[:-2]
    assert "device cuda, as asked." in run("word-classes", "a.txt", "--out", "1", *small, "--device", "cuda")[2]
    assert "device cuda: a graphics card" in run("word-classes", "a.txt", "--out", "2", *small)[2]


@pytest.mark.usefixtures("text")
def test_cuda_where_there_is_none(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    code, out, err = run("word-classes", "a.txt", "--out", "c.txt", *SMALL[:-2], "--device", "cuda")
    assert (code, out) == (1, "")
    assert err.startswith("crfpunct: cuda: CuPy is not installed")
    assert "pip install 'crfpunct[cuda12]'" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "c.txt").exists()
    code, _, err = run("word-classes", "a.txt", "--out", "c.txt", *SMALL[:-2])
    assert code == 0
    assert err.startswith("crfpunct: device cpu (CuPy is not installed")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the texts have no words, so there is nothing to tell apart; give more text."),
        (b"tak\nTak.\n", "the texts have only the word 'tak', so there is nothing to tell apart; give more text."),
        (
            b"a b c. a b c a b\n",
            "the texts have 2 words and marks that occur 3 times or more, expected 4 at least, one a class; "
            "give more text, a smaller --min-count or fewer --classes.",
        ),
        (
            b"tak\nmo\xbfe\n",
            "a.txt:2: byte 3 (0xbf) is not UTF-8; convert the file, for example with iconv -f WINDOWS-1250 -t UTF-8.",
        ),
    ],
)
def test_bad_texts_are_one_line(run, tmp_path, content, message):
    (tmp_path / "a.txt").write_bytes(content)
    code, out, err = run("word-classes", "a.txt", "--out", "c.txt", *SMALL, "--from", "text")
    assert (code, out) == (1, "")
    assert err.splitlines()[1:] == [f"crfpunct: {message}"]
    assert not (tmp_path / "c.txt").exists()


def test_no_such_text(run):
    code, _, err = run("word-classes", "a.txt", "--out", "c.txt", *SMALL)
    assert code == 1
    assert err.splitlines()[-1] == "crfpunct: a.txt: no such file; check the path."


@pytest.mark.usefixtures("text")
def test_a_file_that_is_there_is_not_replaced(run, tmp_path):
    (tmp_path / "c.txt").write_text("mine", encoding="utf-8")
    code, _, err = run("word-classes", "a.txt", "--out", "c.txt", *SMALL)
    assert code == 1
    assert err == "crfpunct: c.txt: is there already; name another file, or replace it with --force.\n"
    assert (tmp_path / "c.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.usefixtures("text")
@pytest.mark.parametrize("classes", ["", "1", "64,", "x", "64;256", "-3"])
def test_numbers_of_classes_that_are_none(run, classes):
    code, _, err = run("word-classes", "a.txt", "--out", "c.txt", "--classes", classes)
    assert code == 2
    assert "expected numbers from 2 on" in err
