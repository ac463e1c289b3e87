"""From texts to word classes, and the table they are kept in.

    texts ─► counts beside each other ─► PPMI ─► SVD ─► k-means ─► classes of frequent words
                                                                    ├─► nearest by character n-grams: rarer words
                                                                    └─► decision list of endings: words never seen

The table is a lexicon file as feature files use it; nothing here is needed for tagging.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

import numpy as np
from numpy.typing import NDArray

from crfpunct.clusters import counts, endings
from crfpunct.clusters.backend import Backend, Float32Array
from crfpunct.clusters.endings import Classes
from crfpunct.errors import CorpusError
from crfpunct.marks import MARK_CHARACTERS
from crfpunct.observations import normal

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_CONTEXTS = 2000  # the commonest words, and the edges of texts, are what is counted beside a word
_MOST_WORDS = 50_000  # words that get vectors; with _CONTEXTS this bounds the memory of a graphics card
_SINGULAR_POWER = 0.5  # of the singular values (Levy, Goldberg & Dagan 2015, section 3.3): 1 lets the first few decide
_ITERATIONS = 50
_NGRAMS = (2, 4)
_NGRAM_COLUMNS = 2**16
_LEAST_RARE = 5  # words seen less often than this are left to their endings
_BLOCK = 2000  # rare words that are compared with all classes at once

Report = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Options:
    """How classes are learned.

    classes: how many, for each granularity. min_count: occurrences of a word that is to have its own vector. window:
    words on either side that are looked at. dimensions: of the vectors (fewer where the texts do not have as many).
    """

    classes: tuple[int, ...] = (64, 256, 1024)
    min_count: int = 10
    window: int = 2
    dimensions: int = 100
    seed: int = 0


@dataclass(frozen=True, slots=True)
class WordClasses:
    """Word classes in several granularities.

    sizes (G,): how many classes there are in each. words: word -> its classes, where they are not those of its ending.
    endings: ending -> classes of other words; the longest one that fits decides, `""` fits all.
    summary: how many words were seen, and what they were classed by.
    """

    sizes: tuple[int, ...]
    words: Mapping[str, Classes]
    endings: Mapping[str, Classes]
    summary: str

    def of(self, word: str) -> Classes:
        """The classes of a word in its `normal` form."""
        return self.words.get(word) or endings.of(word, self.endings)

    def write(self, out: TextIO, comments: Sequence[str]) -> None:
        """Write the lexicon file: comments, then sorted lines of a word, or `*` and an ending, TAB class TAB class …"""
        for line in comments:
            out.write(f"# {line}\n")
        lines = {**self.words, **{f"*{ending}": classes for ending, classes in self.endings.items()}}
        for word in sorted(lines):
            out.write("\t".join([word, *map(str, lines[word])]) + "\n")


def tokens(words: Sequence[str], marks: Sequence[str] = ()) -> list[str]:
    """What `learn` takes of a text: its words, each followed by its mark, if marks are given and it has one.

    What stands next to a mark is what marks stand next to, so classes that know it place marks better. Compounds count
    as their parts, as recognisers write them; where a compound is to be tagged, its ending finds the last part's class.

    >>> tokens(["biało-czerwony", "kot"], [",", ""])
    ['biało', 'czerwony', ',', 'kot']
    """
    found: list[str] = []
    for word, mark in itertools.zip_longest(words, marks, fillvalue=""):
        found += [part for part in word.split("-") if part]
        if mark:
            found.append(mark)
    return found


def learn(
    texts: Iterable[Sequence[str]], options: Options, backend: Backend, report: Report = lambda *_: None
) -> WordClasses:
    """Learn word classes from texts, each a sequence of words and marks (see `tokens`).

    The same texts, options and backend give the same classes. `report` is told the stage, and how many of how many
    stages are done. Raises CorpusError where the texts are too small for the classes asked for.
    """
    stages = ("reading", "counting", "vectors", *(f"{size} classes" for size in options.classes), "rare words")

    def begin(stage: str) -> None:
        report(stage, stages.index(stage), len(stages))

    begin("reading")
    with counts.read(texts) as corpus:
        frequent = _frequent(corpus, options)
        begin("counting")
        contexts = min(_CONTEXTS, len(corpus.words))
        matrix = counts.cooccurrences(corpus, frequent, contexts, options.window)
    begin("vectors")
    vectors = embed(counts.ppmi(matrix), options.dimensions, options.seed, backend)
    columns = []
    for size in options.classes:
        begin(f"{size} classes")
        columns.append(_by_frequency(_k_means(vectors, size, options.seed, backend), corpus.counts[1 : frequent + 1]))
    begin("rare words")
    words = corpus.words[1 : frequent + 1]
    table = dict(zip(words, zip(*(column.tolist() for column in columns), strict=True), strict=True))
    last = int(np.searchsorted(-corpus.counts[1:], -_LEAST_RARE, side="right")) + 1
    rare = corpus.words[frequent + 1 : last]
    of_rare = _of_rare(rare, words, columns, options.classes, backend)
    # Endings are learned from what neighbours decided; what spelling decided would only tell them what they know.
    fallback = endings.learn({word: found for word, found in table.items() if _can_be_written(word)})
    listed = {
        word: found
        for word, found in {**table, **of_rare}.items()
        if _can_be_written(word) and endings.of(word, fallback) != found
    }
    report("rare words", len(stages), len(stages))
    seen = int(corpus.counts[1:].sum())
    summary = (
        f"{seen:,} words and marks, {len(corpus.words) - 1:,} of them different; {frequent:,} classed by their "
        f"neighbours ({vectors.shape[1]} dimensions), {len(rare):,} by their spelling"
    )
    return WordClasses(options.classes, listed, fallback, summary)


def _frequent(corpus: counts.Corpus, options: Options) -> int:
    """How many words get vectors; CorpusError where they are fewer than the classes."""
    words = [word for word in corpus.words[1:] if word.strip(MARK_CHARACTERS)]
    if len(words) < 2:
        found = f"only the word {words[0]!r}" if words else "no words"
        raise CorpusError(f"the texts have {found}, so there is nothing to tell apart; give more text.")
    enough = int((corpus.counts[1:] >= options.min_count).sum())
    most = max(options.classes)
    if enough < most:
        raise CorpusError(
            f"the texts have {enough:,} words and marks that occur {options.min_count} times or more, expected "
            f"{most:,} at least, one a class; give more text, a smaller --min-count or fewer --classes."
        )
    return max(min(enough, _MOST_WORDS), most)


def embed(matrix: csr_matrix, dimensions: int, seed: int, backend: Backend) -> Float32Array:
    """Rows of a (W, C) matrix as vectors of length 1, (W, d); d is `dimensions`, or what the matrix can have."""
    reduced, values = backend.reduce(matrix, max(min(dimensions, min(matrix.shape) - 1), 1), seed)
    scaled = reduced / np.maximum(values, np.finfo(np.float32).tiny) ** (1 - _SINGULAR_POWER)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return (scaled / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _k_means(vectors: Float32Array, size: int, seed: int, backend: Backend) -> NDArray[np.int32]:
    """Clusters (W,); both backends start from the same centres, chosen by k-means++ (Arthur & Vassilvitskii 2007)."""
    from sklearn.cluster import kmeans_plusplus
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # see `backend.ScikitLearn`
        start, _ = kmeans_plusplus(vectors, size, random_state=seed)
    return backend.cluster(vectors, start, _ITERATIONS)


def _by_frequency(clusters: NDArray[np.int32], occurrences: NDArray[np.int64]) -> NDArray[np.int64]:
    """The clusters renumbered: 0 is the one whose words occur most."""
    totals = np.bincount(clusters, weights=occurrences)
    rank = np.empty(len(totals), dtype=np.int64)
    rank[np.argsort(-totals, kind="stable")] = np.arange(len(totals))
    return rank[clusters]


def _of_rare(
    rare: Sequence[str],
    frequent: Sequence[str],
    columns: Sequence[NDArray[np.int64]],
    sizes: Sequence[int],
    backend: Backend,
) -> dict[str, Classes]:
    """Rare word -> the classes whose words it shares most character n-grams with (Rocchio's classifier, tf-idf)."""
    from scipy.sparse import csr_matrix
    from sklearn.preprocessing import normalize

    if not rare:
        return {}
    padded = [f"^{word}$" for word in frequent]
    of_frequent = backend.hash_ngrams(padded, _NGRAMS, _NGRAM_COLUMNS)
    document_frequency = np.bincount(of_frequent.indices, minlength=_NGRAM_COLUMNS)
    idf = np.log((1 + len(frequent)) / (1 + document_frequency)).astype(np.float32)

    def weighted(ngrams: csr_matrix) -> csr_matrix:
        ngrams = csr_matrix(ngrams, copy=True)
        ngrams.data = ngrams.data * idf[ngrams.indices]
        return normalize(ngrams)

    of_frequent = weighted(of_frequent)
    profiles = []
    for column, size in zip(columns, sizes, strict=True):
        one_hot = csr_matrix((np.ones(len(column), np.float32), (column, np.arange(len(column)))), (size, len(column)))
        profiles.append(normalize(one_hot @ of_frequent).T.tocsc())
    found: dict[str, Classes] = {}
    for start in range(0, len(rare), _BLOCK):
        block = rare[start : start + _BLOCK]
        of_rare = weighted(backend.hash_ngrams([f"^{word}$" for word in block], _NGRAMS, _NGRAM_COLUMNS))
        nearest = [(of_rare @ profile).toarray().argmax(axis=1).tolist() for profile in profiles]
        found.update(zip(block, zip(*nearest, strict=True), strict=True))
    return found


def _can_be_written(word: str) -> bool:
    """Whether a lexicon file can have the word, so that it is read back as one; marks are none."""
    if not word.strip(MARK_CHARACTERS) or word[0] in "#*":
        return False
    return word.isprintable() and word == word.strip() and normal(word) == word
