"""Reliability counts against the slow way; what an honest and a boastful model look like; the temperature."""

from __future__ import annotations

import doctest
import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfpunct import decoding
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.errors import ModelError
from crfpunct.estimators import PunctuationCRF
from crfpunct.report import reliability
from crfpunct.scoring import calibration
from crfpunct.tables import Tables
from crfpunct.training import About, Options, temperature, train_punctuation

FEATURES = '[[template]]\nname = "w"\nuse = ["word[{k}]"]\nfor = { k = [0, 1] }\n'


@st.composite
def decisions(draw):
    """Probabilities (T, L) whose rows sum to 1, and right labels (T,), -1 where none of the labels is right."""
    tokens, labels = draw(st.integers(0, 20)), draw(st.integers(1, 4))
    random = np.random.default_rng(draw(st.integers(0, 1000)))
    shares = random.dirichlet(np.full(labels, 0.5), tokens) if tokens else np.zeros((0, labels))
    return shares, random.integers(-1, labels, tokens)


@given(decided=decisions(), bins=st.integers(1, 12), only_placed=st.booleans())
@settings(max_examples=60)
def test_counts_are_those_of_counting(decided, bins, only_placed):
    shares, reference = decided
    placed = shares.argmax(axis=1) if only_placed and shares.shape[1] else None
    table = calibration.counts(shares, reference, placed, bins)
    slow = np.zeros((shares.shape[1], bins, 3))
    for t, row in enumerate(shares):
        for label, share in enumerate(row):
            if placed is None or placed[t] == label:
                slow[label, min(int(share * bins), bins - 1)] += (1, share, reference[t] == label)
    np.testing.assert_allclose(table, slow, atol=1e-12)


@given(decided=decisions())
@settings(max_examples=30)
def test_tables_of_parts_add_up(decided):
    shares, reference = decided
    half = len(shares) // 2
    parts = [calibration.counts(shares[a:b], reference[a:b]) for a, b in ((0, half), (half, len(shares)))]
    np.testing.assert_allclose(sum(parts), calibration.counts(shares, reference), atol=1e-12)


def test_an_honest_model_has_no_error_and_a_boastful_one_has():
    honest = calibration.counts(np.array([[0.75, 0.25]] * 4), np.array([0, 0, 0, 1]))
    assert calibration.expected_calibration_error(honest) == pytest.approx([0, 0])
    boastful = calibration.counts(np.array([[0.95, 0.05]] * 4), np.array([0, 0, 0, 1]))
    assert calibration.expected_calibration_error(boastful) == pytest.approx([20, 20])
    assert calibration.confidence(boastful.sum(axis=1)) == pytest.approx([95, 5])
    assert calibration.accuracy(boastful.sum(axis=1)) == pytest.approx([75, 25])


def test_errors_in_opposite_directions_do_not_cancel():
    shares = np.array([[0.9, 0.1], [0.1, 0.9]])
    error = calibration.expected_calibration_error(calibration.counts(shares, np.array([1, 0])))
    assert error == pytest.approx([90, 90])


def test_nothing_has_no_error():
    table = calibration.counts(np.zeros((0, 2)), np.zeros(0, dtype=np.int64))
    assert np.isnan(calibration.expected_calibration_error(table)).all()
    assert "–" in reliability.ascii_diagram(table[0])
    assert reliability.svg_diagram({"none": table[0]}).startswith("<svg")


@pytest.mark.parametrize("true", [0.8, 1.0, 1.4])
def test_the_temperature_undoes_a_factor(true):
    """Labels drawn from a model without transitions whose scores are then multiplied."""
    random = np.random.default_rng(3)
    emission = random.normal(size=(6000, 3)) * 2
    shares = decoding.marginals(emission, np.zeros((3, 3)), np.array([6000]))
    reference = (shares.cumsum(axis=1) > random.random((6000, 1))).argmax(axis=1)
    sums = calibration.log_likelihoods(emission * true, np.zeros((3, 3)), np.array([6000]), reference)
    assert abs(calibration.TEMPERATURES[int(sums.argmax())] - true) <= 0.1


def test_what_the_model_does_not_know_says_nothing():
    emission, lengths = np.array([[1.0, 0.0], [0.0, 3.0]]), np.array([2])
    known = calibration.log_likelihoods(emission, np.zeros((2, 2)), lengths, np.array([0, -1]))
    alone = calibration.log_likelihoods(emission[:1], np.zeros((2, 2)), np.array([1]), np.array([0]))
    np.testing.assert_allclose(known, alone)


def test_cross_validation_gives_the_model_its_temperature(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(FEATURES, encoding="utf-8")
    random = np.random.default_rng(0)
    texts = []
    for _ in range(40):
        words = random.choice(["ala", "ma", "kota", "tak"], 9).tolist()
        marks = ["." if w == "kota" and random.random() < 0.6 else "" for w in words]
        texts.append(Document("", words, marks=marks))
    options = Options(path, c1=0.0, c2=0.01)
    plain = train_punctuation(texts, About(), options)
    part = train_punctuation(texts, About(), options, folds=2)
    chosen = temperature(part.held_out["text"])
    assert chosen in calibration.TEMPERATURES
    assert temperature([]) == 1.0
    arrays = [np.load(io.BytesIO(p.files["punct-text.npz"])) for p in (plain, part)]
    assert [float(a["temperature"]) for a in arrays] == [1.0, chosen]
    np.testing.assert_array_equal(arrays[0]["weight"], arrays[1]["weight"])


def test_the_examples_are_true():
    for module in (calibration, reliability):
        assert doctest.testmod(module).failed == 0


@pytest.fixture
def chain(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(FEATURES, encoding="utf-8")
    texts = [Document("", ["ala", "ma", "kota"], marks=["", "", "."])] * 3
    return PunctuationCRF(path, use_times=False, c1=0.0, c2=0.1).fit(texts).chain_


def test_probabilities_are_those_of_divided_scores(chain):
    documents = [Document("", ["ala", "ma", "kota", "ala"]), Document("", ["ma"])]
    emission, lengths = chain.emissions(documents), np.array([4, 1])
    for divisor in (0.5, 1.0, 3.0):
        tempered = replace(chain, temperature=divisor)
        found = np.concatenate(Tables(tempered).marginals(documents))
        expected = decoding.marginals(emission / divisor, chain.transition / divisor, lengths)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert Tables(tempered).decode(documents) == Tables(chain).decode(documents)


def test_a_temperature_is_kept(chain):
    templates, lexicons = chain.index.templates, chain.index.lexicons
    arrays = replace(chain, temperature=1.25).to_arrays()
    assert LinearChain.from_arrays(arrays, chain.labels, templates, lexicons).temperature == 1.25
    del arrays["temperature"]  # as in a model of before
    assert LinearChain.from_arrays(arrays, chain.labels, templates, lexicons).temperature == 1.0
    for wrong in (0.0, -1.0, np.nan, np.inf):
        arrays["temperature"] = np.array(wrong)
        with pytest.raises(ModelError, match=r"temperature of .*, expected a number above 0"):
            LinearChain.from_arrays(arrays, chain.labels, templates, lexicons)
