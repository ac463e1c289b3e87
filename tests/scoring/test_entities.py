"""Marks over aligned words: against seqeval, and against counts made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfpunct import marks
from crfpunct.errors import CorpusError
from crfpunct.scoring import counts as table
from crfpunct.scoring import entities
from crfpunct.scoring.alignment import align_documents

label = st.sampled_from(["", "", *marks.MARKS])
pairs_of_labels = st.lists(
    st.lists(st.tuples(label, label), max_size=12).map(lambda pairs: ([a for a, _ in pairs], [b for _, b in pairs])),
    min_size=1,
    max_size=5,
)


@settings(deadline=None, max_examples=60)
@given(pairs_of_labels, st.booleans())
def test_our_counts_give_what_seqeval_gives(pairs: list[tuple[list[str], list[str]]], strict: bool) -> None:
    reference, hypothesis = [a for a, _ in pairs], [b for _, b in pairs]
    total = entities.per_mark(entities.confusion(reference, hypothesis)).sum(axis=0)
    theirs = entities.seqeval_scores(entities.as_tags(reference), entities.as_tags(hypothesis), strict)
    for place, mark in enumerate(marks.MARKS):
        if not total[place].any():
            assert mark not in theirs.per_mark
            continue
        p, r, f, support = theirs.per_mark[mark]
        ours = table.LabelScore.of(mark, total[place])
        assert support == ours.support
        np.testing.assert_allclose(
            [p, r, f], np.nan_to_num([ours.precision, ours.recall, ours.f1]), rtol=1e-12, err_msg=mark
        )
    for average, score in (
        ("micro", table.micro_f1),
        ("macro", entities.macro_f1),
        ("weighted", table.weighted_f1),
    ):
        np.testing.assert_allclose(theirs.averages[average][2], np.nan_to_num(score(total)), rtol=1e-9, atol=1e-9)


def test_strict_mode_names_the_hyphen_as_we_do() -> None:
    tags = [["B--", "O", "B-...", "B-;"]]
    assert set(entities.seqeval_scores(tags, tags, strict=True).per_mark) == {"-", "...", ";"}


def test_labels_that_seqeval_would_misread_are_refused() -> None:
    from seqeval.metrics.sequence_labeling import get_entities

    with pytest.warns(UserWarning, match="not to be NE tag"):
        misread = get_entities([["PERIOD", "PERIOD", "O"]])
    assert misread == [("ERIOD", 0, 1)]  # two marks, merged and renamed: why the guard is there
    with pytest.raises(
        CorpusError, match=r"hypothesis: tag 'PERIOD' at document 1, token 2 is neither O nor B-<mark>.*'B-PERIOD'"
    ):
        entities.seqeval_scores([["O", "B-."]], [["O", "PERIOD"]])
    with pytest.raises(CorpusError, match="tag 'B-'"):
        entities.check_tags([["B-"]])
    with pytest.raises(CorpusError, match="document 1: 1 tags, but the reference has 2; align them"):
        entities.seqeval_scores([["O", "O"]], [["O"]])


def test_slots_of_a_small_confusion() -> None:
    reference, hypothesis = [[".", ",", "", "?", "."]], [[".", ".", ",", "", "."]]
    values = entities.slots(entities.confusion(reference, hypothesis))
    assert values.tolist() == [[1, 1, 1, 4]]
    assert entities.slot_error_rate(values).tolist() == [75.0]


def test_iwslt_counts_eight_marks_as_three() -> None:
    reference, hypothesis = (
        [[",", ":", "-", ".", "!", ";", "...", "?", ""]],
        [[":", "-", ",", "!", ".", "...", ";", ".", "?"]],
    )
    folded = entities.fold_to_iwslt(entities.confusion(reference, hypothesis)).sum(axis=0)
    assert folded.tolist() == [[0, 0, 0, 1], [0, 3, 0, 0], [0, 0, 4, 0], [0, 0, 1, 0]]
    assert entities.per_mark(folded).tolist() == [[3, 0, 0], [4, 1, 0], [0, 1, 1]]
    assert sorted(mark for group in entities.IWSLT.values() for mark in group) == sorted(marks.MARKS)


def test_marks_stay_with_their_words_when_words_are_lost_and_added() -> None:
    tags = entities.tag_sequences(align_documents(["Ala ma kota, psa i mysz."], ["ala kota, psa i, no mysz."]))
    assert tags == ([["", "", ",", "", "", "", "."]], [["", "", ",", "", ",", "", "."]])
    tags = entities.tag_sequences(align_documents(["a b."], [""]))
    assert tags == ([["", "."]], [["", ""]])


def test_runs_and_spellings_of_marks_count_as_their_last_mark() -> None:
    tags = entities.tag_sequences(align_documents(["co?! tak… nie – ."], ["co! tak... nie ."]))
    assert tags == ([["!", "...", "."]], [["!", "...", "."]])
