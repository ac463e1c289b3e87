"""The dial between precision and recall: `tag --bias`, and the same in Python."""

from __future__ import annotations

import io
import itertools
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfpunct import cli, decoding, load, model_folder
from crfpunct.document import Document
from crfpunct.errors import ModelError
from crfpunct.estimators import PunctuationCRF
from crfpunct.model_folder import ModelFolder, pack

FEATURES = '[[template]]\nname = "w"\nuse = ["word[{k}]"]\nfor = { k = [0, 1] }\n'
WORDS = ["ala", "ma", "kota", "tak", "że"]


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A model that is sure of little: marks come by chance, some words attract some of them."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "mine.toml").write_text(FEATURES, encoding="utf-8")
    random = np.random.default_rng(0)
    texts = []
    for _ in range(60):
        words = random.choice(WORDS, 10).tolist()
        marks = [random.choice(["", ",", "."], p=[0.2, 0.3, 0.5] if w == "kota" else [0.7, 0.2, 0.1]) for w in words]
        texts.append(Document("", words, marks=list(map(str, marks))))
    chain = PunctuationCRF(folder / "mine.toml", use_times=False, c1=0.0, c2=0.1, bias=0.2).fit(texts).chain_
    described = {"text": {"file": "punct-text.npz", "labels": list(chain.labels)}}
    part = {"features": "mine", "chains": described, "joined_parts": []}
    files = {"punct-text.npz": pack(chain.to_arrays()), "templates/mine.toml": FEATURES.encode()}
    model_folder.write(folder / "m", ModelFolder({"punct": part}, files))
    return str(folder / "m")


def texts():
    random = np.random.default_rng(5)
    return [Document("", random.choice(WORDS, 30).tolist()) for _ in range(5)]


@given(biases=st.dictionaries(st.sampled_from([",", "."]), st.floats(-5, 5)))
@settings(max_examples=25, deadline=None)
def test_a_bias_is_added_to_the_emissions(model, biases):
    punctuator = load(model).punctuator
    chain = punctuator.text
    added = np.array([biases.get(label, 0.0) for label in chain.labels])
    documents = texts()
    lengths = np.array([len(document.words) for document in documents])
    expected = decoding.viterbi(chain.emissions(documents) + chain.bias + added, chain.transition, lengths)
    found = punctuator.with_bias(biases).marks(documents)
    assert list(itertools.chain(*found)) == [chain.labels[i] for i in expected]


def test_more_bias_never_places_a_mark_less_often(model):
    counts = []
    for bias in np.linspace(-4, 4, 17):
        found = load(model).punctuator.with_bias({",": float(bias)}).marks(texts())
        counts.append(sum(marks.count(",") for marks in found))
    assert counts == sorted(counts)
    assert counts[0] < counts[8] < counts[-1]


def test_the_model_itself_stays_as_it_was(model):
    punctuator = load(model).punctuator
    before = punctuator.marks(texts())
    biased = punctuator.with_bias({".": 3.0})
    assert biased.marks(texts()) != before
    assert punctuator.marks(texts()) == before
    assert pickle.loads(pickle.dumps(biased)).marks(texts()) == biased.marks(texts())
    assert punctuator.with_bias({}).marks(texts()) == before
    np.testing.assert_array_equal(biased.marginals(texts())[0], punctuator.marginals(texts())[0])


def test_an_unknown_mark_has_no_bias(model):
    with pytest.raises(ModelError, match=r"no mark '!' to give a bias to; its marks are , \."):
        load(model).with_bias({"!": 1.0})


@pytest.fixture
def tag(model, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = "\n".join(" ".join(document.words) for document in texts()) + "\n"

    def run(*arguments):
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["crfpunct", "tag", "--model", model, *map(str, arguments)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = 0
            try:
                cli.main()
            except SystemExit as end:
                code = end.code or 0
            for stream in (out, err):
                stream.flush()
        return code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()

    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    return run


def test_the_dial_on_the_command_line(tag):
    plain, more, fewer = (tag("-", "--bias", f",={value}")[1] for value in (0, 2.5, -2.5))
    assert fewer.count(",") < plain.count(",") < more.count(",")
    assert tag("-")[1] == plain
    assert tag("-", "--bias", ",=1", "--bias", ",=1.5")[1] == more
    assert tag("-", "--bias", ",=2.5", "--bias", ".=-9")[1].count(".") == 0
    assert more.replace(",", "").replace(".", "") == plain.replace(",", "").replace(".", "")


def test_workers_have_the_same_bias(tag, tmp_path):
    alone = tag("a.txt", "--bias", ",=2")[1]
    assert tag("a.txt", "--bias", ",=2", "--jobs", "2")[1] == alone
    (tmp_path / "b.txt").write_text((tmp_path / "a.txt").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "out").mkdir()
    assert tag("a.txt", "b.txt", "--bias", ",=2", "--jobs", "2", "-o", "out")[0] == 0
    assert (tmp_path / "out" / "b.txt").read_text(encoding="utf-8") == alone


def test_an_unknown_mark_is_one_line(tag):
    code, out, err = tag("-", "--bias", "!=1")
    assert (code, out) == (1, "")
    assert err == "crfpunct: the model has no mark '!' to give a bias to; its marks are , .\n"


@pytest.mark.parametrize("option", [",", "=1", ",=", ",=much", ",=nan", ",=inf"])
def test_a_bias_is_a_mark_and_a_number(tag, option):
    code, _, err = tag("-", "--bias", option)
    assert code == 2
    assert "expected MARK=VALUE" in err


def test_without_marks_there_is_no_bias(tag):
    code, _, err = tag("-", "--bias", ",=1", "--no-punct")
    assert code == 2
    assert "leave out --no-punct" in err
