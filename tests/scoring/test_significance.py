"""Tests and intervals: against scipy, against exact enumeration, and by simulation where nothing differs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from crfpunct.scoring import counts as table
from crfpunct.scoring import significance


def synthetic(seed: int, systems: int, documents: int, skill: float = 0.0) -> np.ndarray:
    """Counts (S, D, 3, 3) of systems that differ by `skill` a step; documents differ in size and difficulty."""
    random = np.random.default_rng(seed)
    supports = random.integers(1, 30, (documents, 3))
    difficulty = random.uniform(0.3, 0.8, (documents, 1))
    values = np.zeros((systems, documents, 3, 3), np.int64)
    for system in range(systems):
        right = random.binomial(supports, np.clip(difficulty + skill * system, 0, 1))
        values[system] = np.stack([right, random.binomial(supports, 0.2), supports - right], axis=-1)
    return values


def exact(a: np.ndarray, b: np.ndarray) -> float:
    """The p-value over all 2^D swaps of documents, one at a time."""
    observed = abs(table.weighted_f1(a.sum(axis=0)) - table.weighted_f1(b.sum(axis=0)))
    extreme = 0
    for swaps in itertools.product([False, True], repeat=len(a)):
        swapped = np.array(swaps)[:, None, None]
        first, second = np.where(swapped, b, a).sum(axis=0), np.where(swapped, a, b).sum(axis=0)
        extreme += abs(table.weighted_f1(first) - table.weighted_f1(second)) >= observed - 1e-9
    return extreme / 2 ** len(a)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_p_values_are_near_those_of_all_swaps(seed: int) -> None:
    values = synthetic(seed, 2, 8, 0.05 * seed)
    trials = 20_000
    p = significance.approximate_randomisation(values, table.weighted_f1, trials)[0, 1]
    expected = exact(*values)
    # Four standard errors of a share of independent trials.
    assert p == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / trials) + 2 / trials)


def test_p_values_are_near_those_of_scipy() -> None:
    values = synthetic(5, 2, 40, 0.035)[:, :, 0]  # one label, so that documents are single rows of three counts

    def difference(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
        del axis  # scipy permutes indices of documents; the counts are looked up here
        first, second = (values.reshape(-1, 3)[side.astype(int)].sum(axis=-2) for side in (a, b))
        return table.f1(first) - table.f1(second)

    theirs = stats.permutation_test(
        (np.arange(40), np.arange(40, 80)),
        difference,
        permutation_type="samples",
        n_resamples=20_000,
        vectorized=True,
        rng=np.random.default_rng(1),
        axis=-1,
    )
    ours = significance.approximate_randomisation(values[:, :, None], table.micro_f1, 20_000)[0, 1]
    assert 0.01 < ours < 0.5  # else the test would not tell much
    assert ours == pytest.approx(theirs.pvalue, abs=6 * math.sqrt(0.25 / 20_000))


def test_equal_systems_have_p_1_and_systems_far_apart_the_smallest_p() -> None:
    values = synthetic(0, 1, 30)
    same = np.concatenate([values, values])
    assert significance.approximate_randomisation(same, table.weighted_f1, 100).tolist() == [[1, 1], [1, 1]]
    apart = synthetic(0, 2, 60, 0.4)
    assert significance.approximate_randomisation(apart, table.weighted_f1, 999)[0, 1] == pytest.approx(0.001, rel=1e-9)


def test_a_pair_has_the_same_p_whatever_stands_beside_it_and_however_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    values = synthetic(3, 4, 50, 0.02)
    whole = significance.approximate_randomisation(values, table.weighted_f1, 500, seed=7)
    low = significance.bootstrap_scores(values, table.weighted_f1, 500, seed=7)
    np.testing.assert_array_equal(whole, whole.T)
    alone = significance.approximate_randomisation(values[[1, 3]], table.weighted_f1, 500, seed=7)
    assert alone[0, 1] == whole[1, 3]
    monkeypatch.setattr(significance, "_CHUNK", 777)
    np.testing.assert_array_equal(whole, significance.approximate_randomisation(values, table.weighted_f1, 500, 7))
    np.testing.assert_array_equal(low, significance.bootstrap_scores(values, table.weighted_f1, 500, 7))
    assert (significance.approximate_randomisation(values, table.weighted_f1, 500, 8) != whole).any()


def test_one_document_or_an_undefined_score_has_no_test() -> None:
    one = synthetic(0, 2, 1)
    assert math.isnan(significance.approximate_randomisation(one, table.weighted_f1, 50)[0, 1])
    scores = significance.bootstrap_scores(one, table.weighted_f1, 50)
    assert np.isnan(significance.intervals(scores, 1).scores).all()
    nothing = np.zeros((2, 5, 1, 3), np.int64)
    assert math.isnan(significance.approximate_randomisation(nothing, table.weighted_f1, 50)[0, 1])
    scores = significance.bootstrap_scores(nothing, table.weighted_f1, 50)
    assert np.isnan(significance.intervals(scores, 5).differences).all()


def test_resamples_are_sums_of_documents_drawn_with_replacement() -> None:
    documents = np.arange(1, 6)[:, None] ** 3  # every multiset of five has its own sum, nearly
    sums = significance.resampled(documents, 4_000, seed=1)[:, 0]
    assert sums.min() >= 5
    assert sums.max() <= 5 * 125
    # Mean and variance of a sum of five independent draws.
    assert sums.mean() == pytest.approx(5 * documents.mean(), abs=4 * math.sqrt(5 * documents.var() / 4_000))
    assert sums.var() == pytest.approx(5 * documents.var(), rel=0.12)


def test_intervals_are_those_of_scipys_bootstrap() -> None:
    values = synthetic(4, 2, 60, 0.05)[:, :, :1]
    scores = significance.bootstrap_scores(values, table.micro_f1, 5_000)
    ours = significance.intervals(scores, 60)

    def score(places: np.ndarray, axis: int) -> np.ndarray:
        del axis
        return table.f1(values[0, :, 0][places.astype(int)].sum(axis=-2))

    theirs = stats.bootstrap(
        (np.arange(60),), score, n_resamples=5_000, method="percentile", rng=np.random.default_rng(2), axis=-1
    )
    low, high = theirs.confidence_interval
    np.testing.assert_allclose(ours.scores[0], [low, high], rtol=0, atol=0.06 * (high - low))
    np.testing.assert_allclose(ours.differences[0, 1], -ours.differences[1, 0][::-1], rtol=1e-12)


@given(arrays.arrays(np.float64, 6, elements=st.floats(0.0001, 1)))
def test_holm_rejects_what_the_step_down_procedure_rejects(p: np.ndarray) -> None:
    matrix = np.ones((4, 4))
    matrix[np.triu_indices(4, 1)] = p
    matrix = np.minimum(matrix, matrix.T)
    adjusted = significance.holm(matrix)[np.triu_indices(4, 1)]
    assert (adjusted >= p).all()
    rejected = np.zeros(6, np.bool_)
    for step, place in enumerate(np.argsort(p, kind="stable")):
        if p[place] * (6 - step) > 0.05:
            break
        rejected[place] = True
    np.testing.assert_array_equal(adjusted <= 0.05, rejected)


def test_holm_of_a_worked_example_leaves_undefined_values_out() -> None:
    p = np.array([[1, 0.01, 0.04], [0.01, 1, np.nan], [0.04, np.nan, 1]])
    np.testing.assert_allclose(significance.holm(p)[0], [1, 0.02, 0.04], rtol=1e-12)
    assert math.isnan(significance.holm(p)[1, 2])


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.integers(2, 9))
def test_p_is_never_zero_and_never_above_one(seed: int, documents: int) -> None:
    p = significance.approximate_randomisation(synthetic(seed, 3, documents, 0.1), table.weighted_f1, 60, seed)
    assert ((p >= 1 / 61) & (p <= 1)).all()


@pytest.mark.slow
def test_under_the_null_five_percent_of_p_values_are_below_five_percent() -> None:
    runs = 1_000
    below = sum(
        significance.approximate_randomisation(synthetic(seed, 2, 60), table.weighted_f1, 1_000, seed)[0, 1] < 0.05
        for seed in range(runs)
    )
    # 99.9 % of a binomial (1000, 0.05).
    assert stats.binom.ppf(0.0005, runs, 0.05) <= below <= stats.binom.ppf(0.9995, runs, 0.05)


@pytest.mark.slow
def test_intervals_hold_the_true_score_as_often_as_they_say() -> None:
    truth = float(table.weighted_f1(synthetic(10**6, 1, 200_000)[0].sum(axis=0)))
    runs = 400
    held = 0
    for seed in range(runs):
        scores = significance.bootstrap_scores(synthetic(seed, 1, 100), table.weighted_f1, 1_000, seed)
        low, high = significance.intervals(scores, 100).scores[0]
        held += low <= truth <= high
    assert 0.91 <= held / runs <= 0.98
