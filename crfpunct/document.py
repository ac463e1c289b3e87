"""A text as the rest of the package sees it: words in order, perhaps with times and with marks behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfpunct.errors import CorpusError


@dataclass(slots=True)
class Document:
    """One text.

    id: the text's name in its corpus; empty where the format gives none.
    words: T words without white space, exactly as they were read (no mark stripped unless `marks` holds it).
    times_ms: (T, 2) int64, start and end of each word in milliseconds, or None; -1 is a time that is unknown. One of
        the two may be known alone (the start of a cue's first word, the end of its last).
    marks: T marks, each the text that stands behind its word (`""` for none), or None where the text is
        still to be punctuated.
    source: where the text was read, as ``file:line``, for messages.
    layout: what the format that read the text needs to write it back (white space, cues, unknown fields);
        no other module looks into it.
    probabilities: (T,) float64 in [0, 1], how probable the model holds each word's mark to be (`""` included), or
        None; NaN where the mark is none of the model's.
    language: what the file says that it is in, as the file spells it; empty where it says nothing.
    """

    id: str
    words: list[str]
    times_ms: NDArray[np.int64] | None = None
    marks: list[str] | None = None
    source: str = ""
    layout: Any = None
    probabilities: NDArray[np.float64] | None = None
    language: str = ""

    def check(self) -> Document:
        """Return the document itself, or raise CorpusError where its parts differ in length or are no such arrays."""
        count = len(self.words)
        if self.marks is not None and len(self.marks) != count:
            raise CorpusError(f"{self.source or self.id}: {len(self.marks)} marks for {count} words.")
        if self.times_ms is not None and not (
            isinstance(self.times_ms, np.ndarray) and self.times_ms.dtype.kind in "iu"
        ):
            raise CorpusError(f"{self.source or self.id}: word times that are no array of whole numbers, of ms.")
        if self.times_ms is not None and self.times_ms.shape != (count, 2):
            raise CorpusError(
                f"{self.source or self.id}: word times of shape {self.times_ms.shape} for {count} words; "
                f"expected ({count}, 2): start and end of each word in ms."
            )
        if self.probabilities is not None and self.probabilities.shape != (count,):
            found = len(self.probabilities)
            raise CorpusError(f"{self.source or self.id}: {found} probabilities for {count} words; expected one each.")
        return self
