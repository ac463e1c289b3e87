"""Which word of an output stands for which word of the reference: Levenshtein alignment, never token index.

rapidfuzz aligns (one of the cheapest paths; jiwer, which uses it too, gives the same counts).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crfpunct import marks
from crfpunct.formats.text import split

#: rapidfuzz tries this distance first and doubles it: linear time for texts that are much alike.
LIKELY_DISTANCE = 64

_label = lru_cache(maxsize=1 << 12)(marks.label)


@dataclass(frozen=True, slots=True)
class Alignment:
    """C columns of two sequences: the place in the reference and in the output, -1 where that side has nothing.

    reference, hypothesis: (C,) int64. equal: (C,) bool, whether both stand there and are the same.
    """

    reference: NDArray[np.int64]
    hypothesis: NDArray[np.int64]
    equal: NDArray[np.bool_]

    @property
    def errors(self) -> tuple[int, int, int]:
        """Substitutions, deletions, insertions."""
        deleted = int((self.hypothesis < 0).sum())
        inserted = int((self.reference < 0).sum())
        return len(self.equal) - int(self.equal.sum()) - deleted - inserted, deleted, inserted


def align(reference: Sequence[Hashable], hypothesis: Sequence[Hashable]) -> Alignment:
    """Align two sequences with the fewest substitutions, deletions and insertions.

    Of several cheapest alignments it is the one that rapidfuzz takes. Either sequence may be empty.
    """
    if reference == hypothesis:
        places = np.arange(len(reference), dtype=np.int64)
        return Alignment(places, places, np.ones(len(reference), np.bool_))
    from rapidfuzz.distance import Levenshtein

    columns: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    equal = []
    for operation in Levenshtein.opcodes(reference, hypothesis, score_hint=LIKELY_DISTANCE):
        places = np.arange(operation.src_start, operation.src_end)
        others = np.arange(operation.dest_start, operation.dest_end)
        size = max(len(places), len(others))
        nothing = np.full(size, -1, np.int64)
        columns.append((places if len(places) else nothing, others if len(others) else nothing))
        equal.append(np.full(size, operation.tag == "equal"))
    return Alignment(
        np.concatenate([column[0] for column in columns]),
        np.concatenate([column[1] for column in columns]),
        np.concatenate(equal),
    )


def errors(reference: Sequence[Hashable], hypothesis: Sequence[Hashable]) -> tuple[int, int, int]:
    """Substitutions, deletions and insertions of `align`, without its columns."""
    if reference == hypothesis:
        return 0, 0, 0
    from rapidfuzz.distance import Levenshtein

    substituted = deleted = inserted = 0
    for operation in Levenshtein.opcodes(reference, hypothesis, score_hint=LIKELY_DISTANCE):
        if operation.tag == "replace":
            substituted += operation.src_end - operation.src_start
        elif operation.tag == "delete":
            deleted += operation.src_end - operation.src_start
        elif operation.tag == "insert":
            inserted += operation.dest_end - operation.dest_start
    return substituted, deleted, inserted


@dataclass(frozen=True, slots=True)
class Side:
    """The T words of one side of a document, and the label of `marks.MARKS`, or `""`, behind each."""

    words: list[str]
    labels: list[str]

    @classmethod
    def of(cls, line: str) -> Side:
        """A run of marks counts as its last one; lone marks belong to the word before them."""
        words, runs = marks.strip(split(line))
        return cls(words, [_label(run) if run else "" for run in runs])


@dataclass(frozen=True, slots=True)
class AlignedDocument:
    """Both sides of a document and the alignment of their lower-cased words."""

    reference: Side
    hypothesis: Side
    columns: Alignment


def align_documents(reference_lines: Sequence[str], hypothesis_lines: Sequence[str]) -> list[AlignedDocument]:
    """Split each pair of lines into words and marks, and align the words."""
    aligned = []
    for pair in zip(reference_lines, hypothesis_lines, strict=True):
        reference, hypothesis = map(Side.of, pair)
        lowered = [[word.lower() for word in side.words] for side in (reference, hypothesis)]
        aligned.append(AlignedDocument(reference, hypothesis, align(*lowered)))
    return aligned
