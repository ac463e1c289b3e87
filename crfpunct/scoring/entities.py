"""Marks over aligned words: the confusion of every mark with every other, and all that follows from it.

The base is one table per document, which mark stands in the reference and which in the output, over the columns of the
word alignment. A word that only one side has counts with its mark: a lost one, or an inserted one. From it come
precision, recall and F1 per mark (equal to seqeval's), the slot error rate, and the three marks of IWSLT 2011.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crfpunct import marks
from crfpunct.errors import CorpusError
from crfpunct.scoring import counts as table
from crfpunct.scoring.alignment import AlignedDocument

#: No mark, then the marks: the axes of a confusion table.
AXIS: tuple[str, ...] = ("", *marks.MARKS)
_PLACE = {mark: place for place, mark in enumerate(AXIS)}

#: The three marks of IWSLT 2011 (Che et al. 2016 and those who followed) and ours that count as each.
IWSLT: dict[str, tuple[str, ...]] = {
    "COMMA": (",", ":", "-"),
    "PERIOD": (".", "!", ";", "..."),
    "QUESTION": ("?",),
}

Average = Literal["micro", "macro", "weighted"]
AVERAGES: tuple[Average, ...] = ("micro", "macro", "weighted")


def tag_sequences(aligned: Sequence[AlignedDocument]) -> tuple[list[list[str]], list[list[str]]]:
    """The marks of both sides, a label (`""` for none) for each column of each document's alignment."""
    sides: tuple[list[list[str]], list[list[str]]] = ([], [])
    for document in aligned:
        for labels, places, collected in (
            (document.reference.labels, document.columns.reference, sides[0]),
            (document.hypothesis.labels, document.columns.hypothesis, sides[1]),
        ):
            behind = [*labels, ""]  # place -1, where this side has no word
            collected.append([behind[place] for place in places.tolist()])
    return sides


def confusion(reference: Sequence[Sequence[str]], hypothesis: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Count marks against marks: D pairs of label sequences -> (D, M + 1, M + 1), reference × output along `AXIS`."""
    size = len(AXIS)
    values = np.zeros((len(reference), size, size), np.int64)
    for place, (expected, found) in enumerate(zip(reference, hypothesis, strict=True)):
        cells = [_PLACE[a] * size + _PLACE[b] for a, b in zip(expected, found, strict=True)]
        values[place] = np.bincount(np.array(cells, np.int64), minlength=size * size).reshape(size, size)
    return values


def per_mark(confusions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts of each mark, without "no mark": (..., M + 1, M + 1) -> (..., M, 3)."""
    true_positives = np.diagonal(confusions, axis1=-2, axis2=-1)[..., 1:]
    outputs = confusions.sum(axis=-2)[..., 1:]
    supports = confusions.sum(axis=-1)[..., 1:]
    return np.stack([true_positives, outputs - true_positives, supports - true_positives], axis=-1)


def slots(confusions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Substituted, deleted and inserted marks, and marks of the reference: (..., M + 1, M + 1) -> (..., 4).

    Makhoul et al. (1999), "Performance measures for information extraction".
    """
    deleted = confusions[..., 1:, 0].sum(axis=-1)
    inserted = confusions[..., 0, 1:].sum(axis=-1)
    inner = confusions[..., 1:, 1:]
    substituted = inner.sum(axis=(-2, -1)) - np.trace(inner, axis1=-2, axis2=-1)
    total = confusions[..., 1:, :].sum(axis=(-2, -1))
    return np.stack([substituted, deleted, inserted, total], axis=-1)


def slot_error_rate(slot_counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """(S + D + I) / marks of the reference in percent: (..., 4) -> (...); `nan` without marks in the reference."""
    return table.percentage(slot_counts[..., :3].sum(axis=-1), slot_counts[..., 3])


def fold_to_iwslt(confusions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Confusions of the three marks of `IWSLT`: (..., M + 1, M + 1) -> (..., 4, 4), "no mark" first."""
    groups = np.zeros((len(AXIS), 1 + len(IWSLT)), np.int64)
    groups[0, 0] = 1
    for column, members in enumerate(IWSLT.values(), 1):
        for mark in members:
            groups[_PLACE[mark], column] = 1
    folded: NDArray[np.int64] = groups.T @ confusions @ groups
    return folded


def macro_f1(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean F1 of the labels that either side has, as in seqeval: (..., L, 3) -> (...); `nan` without any."""
    scores = table.f1(counts)
    present = counts.sum(axis=-1) > 0
    sums = np.where(present, scores, 0.0).sum(axis=-1)
    return table.percentage(sums / 100, present.sum(axis=-1))


@dataclass(frozen=True, slots=True)
class SeqevalScores:
    """What the seqeval library itself gives, in percent, under its own convention that 0/0 is 0.

    per_mark: mark -> (precision, recall, F1, support). averages: name of the average -> the same.
    """

    per_mark: dict[str, tuple[float, float, float, int]]
    averages: dict[Average, tuple[float, float, float, int]]


def as_tags(sequences: Sequence[Sequence[str]]) -> list[list[str]]:
    """Labels (`""` for none) as tags of one-token entities: `O`, `B-.`, `B-,`, …"""
    return [[f"B-{label}" if label else "O" for label in labels] for labels in sequences]


def check_tags(sequences: Sequence[Sequence[str]], name: str = "tags") -> None:
    """Let only `O` and `B-<mark>` through to seqeval.

    The library takes the first letter of any other label for the chunk tag and merges neighbours: `PERIOD PERIOD`
    becomes one entity `ERIOD`, without an error. CorpusError names the first such label.
    """
    known: set[str] = {"O"}
    for number, tags in enumerate(sequences, 1):
        if known.issuperset(tags):
            continue
        for place, tag in enumerate(tags, 1):
            if tag not in known and not (tag.startswith("B-") and len(tag) > len("B-")):
                raise CorpusError(
                    f"{name}: tag {tag!r} at document {number}, token {place} is neither O nor B-<mark>; seqeval "
                    f"would read it as another label. Write 'B-{tag}'."
                )
            known.add(tag)


def seqeval_scores(
    reference: Sequence[Sequence[str]], hypothesis: Sequence[Sequence[str]], strict: bool = False
) -> SeqevalScores:
    """Score tags (`O`, `B-.`, …) with the seqeval library, in its default or its strict mode (`scheme=IOB2`).

    Strict mode writes the label `-` as `_`; it is `-` again in the result.
    Raises CorpusError where a tag would be misread or the sequences differ in length.
    """
    check_tags(reference, "reference")
    check_tags(hypothesis, "hypothesis")
    for number, (expected, found) in enumerate(zip(reference, hypothesis, strict=True), 1):
        if len(expected) != len(found):
            raise CorpusError(
                f"document {number}: {len(found)} tags, but the reference has {len(expected)}; align them."
            )
    from seqeval.metrics import sequence_labeling, v1
    from seqeval.scheme import IOB2

    # Where neither side has a mark there is nothing to count, and the library is slow: those tokens are left out.
    kept = [
        [(a, b) for a, b in zip(expected, found, strict=True) if a != "O" or b != "O"]
        for expected, found in zip(reference, hypothesis, strict=True)
    ]
    if not any(kept):  # the library fails on it
        return SeqevalScores({}, dict.fromkeys(AVERAGES, (0.0, 0.0, 0.0, 0)))
    sides = [[[pair[side] for pair in pairs] for pairs in kept] for side in (0, 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on 0/0, which the caller sees in the counts
        report = (
            v1.classification_report(*sides, output_dict=True, scheme=IOB2, zero_division=0)
            if strict
            else sequence_labeling.classification_report(*sides, output_dict=True, zero_division=0)
        )

    def row(values: Mapping[str, float]) -> tuple[float, float, float, int]:
        p, r, f = (100 * float(values[name]) for name in ("precision", "recall", "f1-score"))
        return p, r, f, int(values["support"])

    averages: dict[Average, tuple[float, float, float, int]] = {
        average: row(report.pop(f"{average} avg")) for average in AVERAGES
    }
    return SeqevalScores({name.replace("_", "-"): row(values) for name, values in report.items()}, averages)
