"""Scores from counts: 0/0 is undefined, leading axes are independent, the averages are what they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from crfpunct.scoring import counts as table
from crfpunct.scoring import entities

tables = arrays.arrays(np.int64, arrays.array_shapes(min_dims=2, max_dims=2, max_side=6).map(lambda s: (*s, 3)),
                       elements=st.integers(0, 50))  # fmt: skip


@given(tables)
def test_a_batch_of_tables_is_scored_like_each_alone(values: np.ndarray) -> None:
    for score in (table.micro_f1, table.weighted_f1, entities.macro_f1):
        np.testing.assert_array_equal(score(values), [score(each) for each in values])


@given(tables)
def test_f1_is_the_harmonic_mean_where_both_are_defined(values: np.ndarray) -> None:
    p, r, f = table.precision(values), table.recall(values), table.f1(values)
    both = ~np.isnan(p) & ~np.isnan(r) & (np.nan_to_num(p + r) > 0)
    np.testing.assert_allclose(f[both], 2 * p[both] * r[both] / (p[both] + r[both]), rtol=1e-12)
    assert (f[~both & ~np.isnan(f)] == 0).all()


def test_nothing_over_nothing_is_undefined_and_not_a_number_of_its_own() -> None:
    nothing = np.zeros((2, 3), np.int64)
    for score in (table.precision, table.recall, table.f1):
        assert np.isnan(score(nothing)).all()
    for average in (table.micro_f1, table.weighted_f1, entities.macro_f1):
        assert math.isnan(average(nothing))
    only_output = np.array([0, 4, 0])
    assert table.precision(only_output) == 0
    assert math.isnan(table.recall(only_output))
    assert table.f1(only_output) == 0


def test_a_label_without_support_has_no_weight() -> None:
    values = np.array([[3, 1, 1], [0, 9, 0]])
    assert table.weighted_f1(values) == pytest.approx(75.0, abs=1e-9)
    assert table.micro_f1(values) == pytest.approx(600 / 17, rel=1e-12)
    assert entities.macro_f1(values) == pytest.approx(37.5, abs=1e-9)
