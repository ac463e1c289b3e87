"""Marks off and on again, documents, error classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfpunct import errors, resources
from crfpunct.document import Document
from crfpunct.marks import MARK_CHARACTERS, MARKS, Typography, attach, label, split_mark, strip

characters = st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"])
tokens = st.text(characters | st.sampled_from(MARK_CHARACTERS), min_size=1, max_size=8)
runs = st.text(st.sampled_from(MARK_CHARACTERS), max_size=4)
words = st.text(characters, min_size=1, max_size=6).filter(lambda word: word[-1] not in MARK_CHARACTERS)


@given(tokens)
def test_a_token_is_its_word_and_its_mark(token):
    word, mark = split_mark(token)
    assert word + mark == token
    assert set(mark) <= set(MARK_CHARACTERS)
    assert split_mark(word) == (word, "")


@given(st.lists(st.tuples(words, runs)))
def test_stripping_undoes_attaching(pairs):
    expected = [list(side) for side in zip(*pairs, strict=True)] or [[], []]
    assert list(strip(attach(*expected))) == expected


@given(st.lists(tokens))
def test_no_character_is_lost_but_marks_before_the_first_word(drawn):
    found, marks = strip(drawn)
    assert len(found) == len(marks)
    assert all(found)
    text = "".join(drawn)
    assert text.endswith("".join(attach(found, marks)))
    assert set(text.removesuffix("".join(attach(found, marks)))) <= set(MARK_CHARACTERS)


@given(runs)
def test_a_run_has_one_label(run):
    assert label(run) in (MARKS if run else ("",))
    assert label(label(run)) == label(run)


@pytest.mark.parametrize(
    ("run", "expected"), [("?!", "!"), ("…", "..."), ("—", "-"), ("..", "."), ("-…", "..."), ("", "")]
)
def test_labels(run, expected):
    assert label(run) == expected


@given(st.lists(st.tuples(words, st.sampled_from(["", *MARKS]))), st.sets(words))
def test_separators_never_alter_a_word(pairs, joined):
    found, marks = [w for w, _ in pairs], [m for _, m in pairs]
    separators = Typography(frozenset(joined), "—").separators(found, marks)
    for i, (mark, separator) in enumerate(zip(marks, separators, strict=True)):
        space = " " if i < len(found) - 1 else ""
        assert separator in ({mark + space} if mark != "-" else {"-", f" —{space}"})


def test_a_hyphen_joins_numbers_and_known_first_parts():
    typography = Typography(frozenset({"polsko"}))
    assert typography.separators(["Polsko", "rosyjskie", "lata"], ["-", "", ""]) == ["-", " ", ""]
    assert typography.separators(["1939", "1945"], ["-", "."]) == ["-", "."]
    assert typography.separators(["rok", "1945"], ["-", "-"]) == [" – ", " –"]


# ---------------------------------------------------------------- documents


def test_a_document_that_fits_together():
    document = Document("a", ["tak"], np.array([[0, 1]]), ["."])
    assert document.check() is document
    assert Document("", []).check().words == []


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (Document("a", ["tak", "nie"], marks=["."], source="f:3"), r"^f:3: 1 marks for 2 words\.$"),
        (Document("a", ["tak"], marks=[]), r"^a: 0 marks for 1 words\.$"),
        (
            Document("a", ["tak"], np.zeros((2, 2), dtype=np.int64)),
            r"^a: word times of shape \(2, 2\) for 1 words; expected \(1, 2\): start and end of each word in ms\.$",
        ),
    ],
)
def test_a_document_whose_parts_differ_in_length(document, message):
    with pytest.raises(errors.CorpusError, match=message):
        document.check()


# ---------------------------------------------------------------- errors and what ships


@pytest.mark.parametrize("name", ["CorpusError", "TemplateError", "ModelError", "BackendError"])
def test_every_error_is_ours_and_says_what_it_was_given(name):
    error = getattr(errors, name)("in.tsv:3: no tab.")
    assert isinstance(error, errors.CrfpunctError)
    assert str(error) == "in.tsv:3: no tab."


def test_a_path_comes_before_a_shipped_name(tmp_path, monkeypatch):
    shipped = resources.find_features("punct")
    assert shipped.name == "punct.toml"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "punct").write_text("")
    assert resources.find_features("punct") == shipped  # a file that happens to have the name is no feature file
    (tmp_path / "punct.toml").write_text("")
    assert resources.find_features("punct.toml").resolve() == tmp_path / "punct.toml"


def test_what_is_neither_a_path_nor_shipped():
    with pytest.raises(errors.TemplateError, match=r"^xx: no such feature file or folder, .* shipped \(.*punct.*\)\.$"):
        resources.find_features("xx")
    with pytest.raises(errors.ModelError, match=r"^xx: no such model file or folder, and none of that name is shipped"):
        resources.find_model("xx")


def test_models_are_folders_with_a_manifest(tmp_path, monkeypatch):
    (tmp_path / "models" / "pl").mkdir(parents=True)
    (tmp_path / "models" / "half").mkdir()
    (tmp_path / "models" / "pl" / "model.json").write_text("{}")
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "crfpunct")
    assert resources.shipped("models") == {"pl": tmp_path / "models" / "pl"}
    assert resources.find_model("pl") == tmp_path / "models" / "pl"
    assert resources.shipped("features") == {}
    with pytest.raises(errors.ModelError, match=r"none of that name is shipped \(pl\)"):
        resources.find_model("half")
