"""Word errors against jiwer, against the definitions of their parts, and against a published table."""

from __future__ import annotations

import jiwer
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfpunct.scoring import word_errors
from crfpunct.scoring.alignment import Side, align, align_documents, errors

words = st.lists(st.sampled_from(["a", "b", "c", "A", "dd"]), max_size=14)
token = st.tuples(st.sampled_from(["kot", "Kot", "PIES", "dom", "x3"]), st.sampled_from(["", ",", ".", "?!"])).map(
    "".join
)
texts = st.lists(token, max_size=10).map(" ".join)


@given(words, words)
def test_errors_are_those_of_jiwer_and_of_our_own_columns(reference: list[str], hypothesis: list[str]) -> None:
    found = errors(reference, hypothesis)
    assert found == align(reference, hypothesis).errors
    if reference:
        theirs = jiwer.process_words(" ".join(reference), " ".join(hypothesis))
        assert found == (theirs.substitutions, theirs.deletions, theirs.insertions)


@given(words, words)
def test_an_alignment_visits_every_word_once_and_in_order(reference: list[str], hypothesis: list[str]) -> None:
    columns = align(reference, hypothesis)
    for places, side in ((columns.reference, reference), (columns.hypothesis, hypothesis)):
        assert places[places >= 0].tolist() == list(range(len(side)))
    for i, j, equal in zip(columns.reference, columns.hypothesis, columns.equal, strict=True):
        assert equal == (i >= 0 and j >= 0 and reference[i] == hypothesis[j])


@given(texts, texts)
def test_the_rows_are_word_error_rates_of_jiwer(reference: str, hypothesis: str) -> None:
    (document,) = align_documents([reference], [hypothesis])
    (rows,) = word_errors.count_rows([document])
    for (cased, punctuated), row in zip(word_errors.ROWS, rows, strict=True):
        sides = [
            " ".join(word_errors.tokens(side, cased, punctuated)) for side in (document.reference, document.hypothesis)
        ]
        if not sides[0]:
            assert row.tolist() == [0, 0, 0, len(sides[1].split())]
            assert np.isnan(word_errors.word_error_rate(row))
            continue
        theirs = jiwer.process_words(*sides)
        assert row.tolist() == [
            len(sides[0].split()), theirs.substitutions, theirs.deletions, theirs.insertions
        ]  # fmt: skip
        assert word_errors.word_error_rate(row) == pytest.approx(100 * theirs.wer, rel=1e-12)


@given(texts)
def test_marks_and_capitals_are_the_errors_of_a_text_against_itself_without_them(text: str) -> None:
    counted = word_errors.count_words(align_documents([text], [text]), [text], [text])
    side = Side.of(text)
    bare = word_errors.tokens(side, True, False)
    substituted, deleted, inserted = errors(bare, word_errors.tokens(side, True, True))
    assert (substituted, deleted) == (0, 0)
    assert counted.marks.tolist() == [[inserted, inserted]]
    # Position by position: where lower-cased words stand side by side, a cheapest path may shift instead.
    capitals = sum(word != word.lower() for word in bare)
    assert counted.capitals.tolist() == [[capitals, capitals]]
    assert sum(errors(bare, [word.lower() for word in bare])) == capitals


def test_the_published_table_is_recomputed_from_its_counts() -> None:
    # Four-row table of a speech-translation deliverable: I, D, S printed there; words, marks and capitals inferred.
    words, marks, capitals = 56_700, np.array([7_576, 7_555]), np.array([6_216, 6_101])
    printed = [(38, 12, 5), (1526, 1521, 1916), (38, 12, 2964), (1504, 1499, 4892)]
    rows = np.array(
        [
            [words + marks[0] * punctuated, s, d, i]
            for (_, punctuated), (i, d, s) in zip(word_errors.ROWS, printed, strict=True)
        ]
    )
    np.testing.assert_allclose(word_errors.word_error_rate(rows), [0.1, 7.7, 5.3, 12.3], atol=0.05, rtol=0)
    np.testing.assert_allclose(word_errors.marks_rates(rows, marks), [54.9, 55.0], atol=0.05, rtol=0)
    np.testing.assert_allclose(word_errors.capitals_rates(rows, capitals), [52.4, 51.5], atol=0.05, rtol=0)


def test_a_pair_whose_errors_are_known_by_construction() -> None:
    # Blocks far enough apart that no cheaper path joins two of them.
    keep = [f"słowo{n}" for n in range(400)]
    reference, hypothesis = list(keep), list(keep)
    for place in (50, 150, 250):  # three substitutions
        hypothesis[place] = "inne"
    reference[320] += "."  # a lost mark
    hypothesis[330] += ","  # an added mark
    reference[340], hypothesis[340] = "tak?", "tak!"  # a wrong mark
    reference[350] = "Wisła"  # a lost capital
    hypothesis[350] = "wisła"
    del hypothesis[300:304]  # four deletions
    hypothesis[100:100] = ["nowe", "słowa"]  # two insertions
    pair = [" ".join(reference)], [" ".join(hypothesis)]
    counted = word_errors.count_words(align_documents(*pair), *pair)
    assert counted.rows[0].tolist() == [
        [400, 3, 4, 2],
        [402, 4, 5, 3],
        [400, 4, 4, 2],
        [402, 5, 5, 3],
    ]
    assert counted.marks.tolist() == [[2, 2]]
    assert [float(rate) for rate in word_errors.marks_rates(counted.rows[0], counted.marks[0])] == [0.0, 0.0]
    assert counted.capitals.tolist() == [[1, 0]]
    recall, precision = word_errors.capitals_rates(counted.rows[0], counted.capitals[0])
    assert recall == 0
    assert np.isnan(precision)


def test_an_empty_reference_has_insertions_and_no_rate() -> None:
    (row,) = word_errors.count_rows(align_documents([""], ["a b."]))[:, 3]
    assert row.tolist() == [0, 0, 0, 3]
    assert np.isnan(word_errors.word_error_rate(row))
    (row,) = word_errors.count_rows(align_documents(["a b."], [""]))[:, 3]
    assert row.tolist() == [3, 0, 3, 0]
    assert word_errors.word_error_rate(row) == 100


@settings(max_examples=50)
@given(texts, texts)
def test_character_errors_are_those_of_jiwer(reference: str, hypothesis: str) -> None:
    ((characters, distance),) = word_errors.count_characters([reference + "  "], [hypothesis])
    assert characters == len(reference)
    if reference:
        assert distance / characters == pytest.approx(jiwer.cer(reference, hypothesis), rel=1e-12)


def test_two_long_texts_that_are_alike_take_linear_time() -> None:
    text = "abcdefghij " * 100_000
    ((characters, distance),) = word_errors.count_characters([text], [text.replace("abcdefghij ", "abcdefghix ", 40)])
    assert (characters, distance) == (len(text) - 1, 40)
