"""Word error rate with case and punctuation each counted or not, and the rates of marks and capitals derived from it.

The four rows are those of speech-translation deliverables: a run of marks is a token of its own, "case insensitive"
lower-cases both sides, "punctuation insensitive" removes the marks from both. Beside it, the character error rate
and the share of lines that are right as they stand, for systems that rewrite text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crfpunct.formats.text import split
from crfpunct.scoring import counts as table
from crfpunct.scoring.alignment import LIKELY_DISTANCE, AlignedDocument, Side, errors

#: (case counts, punctuation counts), in the order of the rows.
ROWS: tuple[tuple[bool, bool], ...] = ((False, False), (False, True), (True, False), (True, True))

#: Places of the last axis of the rows' counts.
TOKENS, SUBSTITUTIONS, DELETIONS, INSERTIONS = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Counts of D documents; each array sums over its first axis.

    rows: (D, 4, 4) int64: for each of `ROWS`, tokens of the reference, substitutions, deletions, insertions.
    marks: (D, 2) int64: marks of the reference, of the output.
    capitals: (D, 2) int64: words with an upper-case letter in the reference, in the output.
    characters: (D, 2) int64: characters of the reference, and the Levenshtein distance of the output.
    lines: (D, 2) int64: 1, and whether the line is right as it stands.
    """

    rows: NDArray[np.int64]
    marks: NDArray[np.int64]
    capitals: NDArray[np.int64]
    characters: NDArray[np.int64]
    lines: NDArray[np.int64]


def tokens(side: Side, cased: bool, punctuated: bool) -> list[str]:
    """The tokens of one row: the words, lower-cased or not, with each mark behind its word as a token, or without."""
    words = side.words if cased else [word.lower() for word in side.words]
    if not punctuated:
        return words
    return [
        token for word, label in zip(words, side.labels, strict=True) for token in ((word, label) if label else (word,))
    ]


def count_rows(aligned: Sequence[AlignedDocument]) -> NDArray[np.int64]:
    """D documents -> (D, 4, 4) int64, as in `WordCounts.rows`."""
    values = np.zeros((len(aligned), len(ROWS), 4), np.int64)
    for place, document in enumerate(aligned):
        for row, (cased, punctuated) in enumerate(ROWS):
            reference, hypothesis = (
                tokens(side, cased, punctuated) for side in (document.reference, document.hypothesis)
            )
            # The first row is what the document was aligned by.
            found = errors(reference, hypothesis) if cased or punctuated else document.columns.errors
            values[place, row] = len(reference), *found
    return values


def count_characters(reference_lines: Sequence[str], hypothesis_lines: Sequence[str]) -> NDArray[np.int64]:
    """D lines -> (D, 2) int64: characters of the reference, Levenshtein distance.

    Runs of white space are one space, and none at the ends of a line.
    """
    from rapidfuzz.distance import Levenshtein

    values = np.zeros((len(reference_lines), 2), np.int64)
    for place, pair in enumerate(zip(reference_lines, hypothesis_lines, strict=True)):
        reference, hypothesis = (" ".join(split(line)) if line else "" for line in pair)
        values[place] = len(reference), Levenshtein.distance(reference, hypothesis, score_hint=LIKELY_DISTANCE)
    return values


def count_words(
    aligned: Sequence[AlignedDocument], reference_lines: Sequence[str], hypothesis_lines: Sequence[str]
) -> WordCounts:
    """Count everything of this module."""
    characters = count_characters(reference_lines, hypothesis_lines)
    sides = [(document.reference, document.hypothesis) for document in aligned]
    marks = [[sum(map(bool, side.labels)) for side in pair] for pair in sides]
    capitals = [[sum(word != word.lower() for word in side.words) for side in pair] for pair in sides]
    return WordCounts(
        count_rows(aligned),
        np.array(marks, np.int64).reshape(-1, 2),
        np.array(capitals, np.int64).reshape(-1, 2),
        characters,
        np.stack([np.ones(len(aligned), np.int64), (characters[:, 1] == 0).astype(np.int64)], axis=-1),
    )


def word_error_rate(row: NDArray[np.int64]) -> NDArray[np.float64]:
    """(S + D + I) / tokens of the reference in percent: (..., 4) -> (...); `nan` where the reference has none."""
    return table.percentage(row[..., 1:].sum(axis=-1), row[..., TOKENS])


def marks_rates(rows: NDArray[np.int64], marks: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Recall and precision of marks in percent, from rows (..., 4, 4) and marks (..., 2).

    With the errors of row 2 less those of row 1: recall = (N_ref - D - S) / N_ref, precision = (N_hyp - I - S) / N_hyp.
    """
    more = rows[..., 1, :] - rows[..., 0, :]
    reference, hypothesis = marks[..., 0], marks[..., 1]
    return (
        table.percentage(reference - more[..., DELETIONS] - more[..., SUBSTITUTIONS], reference),
        table.percentage(hypothesis - more[..., INSERTIONS] - more[..., SUBSTITUTIONS], hypothesis),
    )


def capitals_rates(
    rows: NDArray[np.int64], capitals: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Recall and precision of words with a capital in percent, from rows (..., 4, 4) and capitals (..., 2).

    With the substitutions of row 3 less those of row 1: recall = (N_ref - S) / N_ref, precision = (N_hyp - S) / N_hyp.
    """
    more = rows[..., 2, SUBSTITUTIONS] - rows[..., 0, SUBSTITUTIONS]
    return (
        table.percentage(capitals[..., 0] - more, capitals[..., 0]),
        table.percentage(capitals[..., 1] - more, capitals[..., 1]),
    )
