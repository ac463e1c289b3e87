"""How often words occur, and how often which words stand beside them. Texts are streamed; memory is bounded.

What grows with the texts is a temporary file of four bytes a word. In memory are the distinct words and the sparse
matrix of counts, whose size is bounded by the words and contexts asked for, not by the length of the texts.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crfpunct.observations import normals

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

EDGE = ""  # the word in whose place a text begins or ends; its number is 0
_CHUNK = 1_000_000  # words that are counted at once: 60 MB of pairs for a window of 2


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts as numbers.

    words: every distinct word in its `normal` form, by frequency and then in order; words[0] is EDGE.
    counts (W,): how often each occurs; of EDGE, how many texts there are.
    file, numbers (W,): the texts as int32, each behind an EDGE, under the numbers they were met with; `numbers` turns
        those into places in `words`.
    """

    words: list[str]
    counts: NDArray[np.int64]
    file: IO[bytes]
    numbers: NDArray[np.int32]

    def chunks(self, overlap: int) -> Iterator[tuple[NDArray[np.int32], int]]:
        """Yield (words by number, how many of them are new); the `overlap` words behind those come again."""
        self.file.seek(0)
        tail = np.zeros(0, dtype=np.int32)
        while raw := self.file.read(4 * _CHUNK):
            words = np.concatenate([tail, self.numbers[np.frombuffer(raw, dtype=np.int32)]])
            new = max(len(words) - overlap, 0)
            yield words, new
            tail = words[new:]
        yield tail, len(tail)


@contextlib.contextmanager
def read(texts: Iterable[Sequence[str]]) -> Iterator[Corpus]:
    """Number the words of texts, each a sequence of words; every text is looked at once."""
    numbers: dict[str, int] = {EDGE: 0}
    counts: Counter[int] = Counter()
    with tempfile.TemporaryFile() as file:
        for words in texts:
            found = [0, *(numbers.setdefault(word, len(numbers)) for word in normals(words))]
            counts.update(found)
            file.write(np.array(found, dtype=np.int32).tobytes())
        file.write(np.zeros(1, dtype=np.int32).tobytes())
        names = list(numbers)
        order = [0, *sorted(range(1, len(names)), key=lambda i: (-counts[i], names[i]))]
        places = np.zeros(len(names), dtype=np.int32)
        places[order] = np.arange(len(names), dtype=np.int32)
        occurrences = np.array([counts[i] for i in order], dtype=np.int64)
        yield Corpus([names[i] for i in order], occurrences, file, places)


def cooccurrences(corpus: Corpus, rows: int, contexts: int, window: int) -> csr_matrix:
    """How often each of the words 1 … rows has each of the words 0 … contexts - 1 at each place near it.

    (rows, 2 · window · contexts) float32: a block of columns for each distance behind the word, 1 to `window`, then one
    for each distance before it. Places are told apart (positional contexts, Levy & Goldberg 2014), because what
    stands to the left of a word and what to the right says how it is used, not only what it is about.
    """
    from scipy.sparse import coo_matrix, csr_matrix

    columns = 2 * window * contexts
    total = csr_matrix((rows, columns), dtype=np.float32)
    for words, new in corpus.chunks(window):
        # Texts are told apart by the edges between them; an edge belongs to the text behind it and the one before.
        text = np.cumsum(words == 0)
        row_parts, column_parts = [], []
        for distance in range(1, window + 1):
            first, second = words[:new], words[distance : new + distance]
            first = first[: len(second)]
            same = (text[: len(first)] == text[distance : distance + len(first)]) | (
                (second == 0) & (text[distance - 1 : distance - 1 + len(first)] == text[: len(first)])
            )
            for word, context, block in ((first, second, distance - 1), (second, first, window + distance - 1)):
                counted = same & (word > 0) & (word <= rows) & (context < contexts)
                row_parts.append(word[counted] - 1)
                column_parts.append(context[counted] + block * contexts)
        row, column = np.concatenate(row_parts), np.concatenate(column_parts)
        part = coo_matrix((np.ones(len(row), dtype=np.float32), (row, column)), shape=(rows, columns))
        total = total + part.tocsr()
    return total


def ppmi(counts: csr_matrix, smoothing: float = 0.75, shift: float = 1.0) -> csr_matrix:
    """Positive pointwise mutual information of rows and columns: max(0, log(P(w, c) / (P(w) Pα(c))) - log shift).

    Pα is the columns' distribution with their counts raised to α = `smoothing`, which keeps rare contexts from having
    the largest values; a `shift` above 1 is the number of negative samples of word2vec (Levy & Goldberg 2014; Levy,
    Goldberg & Dagan 2015, sections 2.1 and 3.2).
    """
    from scipy.sparse import csr_matrix

    row_sums = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    smoothed = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel() ** smoothing
    result = csr_matrix(counts, copy=True)
    row_of = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    expected = row_sums[row_of] * smoothed[counts.indices] / smoothed.sum()
    result.data = np.maximum(np.log(counts.data / expected) - np.log(shift), 0).astype(np.float32)
    result.eliminate_zeros()
    return result
