"""Case: classes of words, counts against a slow count, words that open a sentence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfpunct.casing import CLASSES, case_class
from crfpunct.scoring import casing
from crfpunct.scoring import counts as table
from crfpunct.scoring.alignment import align_documents

word = st.sampled_from(["kot", "Kot", "KOT", "kOt", "i", "I", "3", "ßa"])


@given(st.text(st.characters(categories=["Lu", "Ll", "Lt", "Nd"]), min_size=1, max_size=6))
def test_every_word_has_a_class_and_lower_case_is_lower(text: str) -> None:
    assert case_class(text) in CLASSES
    assert case_class(text.lower()) == "LOWER"


@given(st.lists(st.tuples(word, st.booleans()), max_size=10))
def test_counts_are_those_of_single_words(items: list[tuple[str, bool]]) -> None:
    reference = [given for given, _ in items]
    hypothesis = [given.swapcase() if swap else given for given, swap in items]
    if [w.lower() for w in reference] != [w.lower() for w in hypothesis]:  # ß becomes ss
        return
    counts = casing.count_case(align_documents([" ".join(reference)], [" ".join(hypothesis)])).sum(axis=(0, 1))
    pairs = list(zip(reference, hypothesis, strict=True))
    upper = [sum(w != w.lower() for w in side) for side in (reference, hypothesis)]
    right = sum(a == b and a != a.lower() for a, b in pairs)
    assert casing.capitalised(counts).tolist() == [right, upper[1] - right, upper[0] - right]
    if pairs:
        assert casing.accuracy(counts) == pytest.approx(100 * sum(a == b for a, b in pairs) / len(pairs), rel=1e-12)
    assert counts[..., [table.TRUE_POSITIVE, table.FALSE_NEGATIVE]].sum() == len(pairs)


@given(st.lists(st.tuples(word, st.sampled_from(["", ",", "."]), st.booleans()), max_size=10))
def test_the_same_words_are_counted_without_an_alignment(items: list[tuple[str, str, bool]]) -> None:
    reference = [given for given, _, _ in items]
    hypothesis = [given.upper() if swap and "ß" not in given else given for given, _, swap in items]
    marks = [mark for _, mark, _ in items]
    lines = [" ".join(map("".join, zip(side, marks, strict=True))) for side in (reference, hypothesis)]
    aligned = casing.count_case(align_documents(lines[:1], lines[1:]))
    np.testing.assert_array_equal(casing.count_same_words([(reference, hypothesis, marks)]), aligned.sum(axis=0))


def test_words_behind_a_full_stop_are_counted_apart() -> None:
    counts = casing.count_case(align_documents(["Tak, Ala. Nie? A"], ["Tak, ala. nie? A"]))[0]
    inside, initial = counts
    title = CLASSES.index("TITLE")
    assert inside[title].tolist() == [0, 0, 1]
    assert initial[title].tolist() == [2, 0, 1]


def test_only_words_that_both_sides_have_are_counted() -> None:
    counts = casing.count_case(align_documents(["Ala ma Asa."], ["ala miała Asa i psa."]))
    assert counts[..., [table.TRUE_POSITIVE, table.FALSE_NEGATIVE]].sum() == 2
    assert np.isnan(casing.accuracy(casing.count_case(align_documents(["a"], ["b"])).sum(axis=(0, 1))))
