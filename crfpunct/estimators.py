"""Training: scikit-learn estimators that fit through sklearn-crfsuite. Never imported when tagging."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pycrfsuite
import sklearn_crfsuite
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from crfpunct import attributes, templates
from crfpunct.attributes import Batch
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.tables import Tables

_MOST_LABELS = 255  # a model folder keeps label numbers as bytes


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of training, as shown to the user: iteration (from 1) of at most `limit`, and the loss."""

    iteration: int
    limit: int
    loss: float


class PunctuationCRF(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear-chain CRF that places a mark behind each word.

    X is a list of documents and y their marks, a list of T strings for each, so that cross-validation never cuts a
    document. Features are those of a feature file; c1, c2 and max_iterations override its [train] options. With
    use_times=False the templates that look at pauses are left out, as for texts without word times.

    After `fit`: chain_ (the CRF), classes_ (its labels), features_, options_, training_log_, candidates_ (attributes
    before those without a weight were dropped).
    """

    def __init__(
        self,
        features: str | Path = "punct",
        use_times: bool = True,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self.features = features
        self.use_times = use_times
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.progress = progress

    def fit(self, X: Sequence[Document], y: Sequence[Sequence[str]] | None = None) -> PunctuationCRF:
        """Train on documents X and their marks y (by default the documents' own).

        Raises CorpusError where there is nothing to learn from: no words, or one label only.
        """
        marks = [document.marks for document in X] if y is None else list(y)
        labels = _check(X, marks)
        self.features_ = templates.load(self.features)
        options = self.features_.options
        self.options_ = templates.TrainOptions(
            c1=options.c1 if self.c1 is None else self.c1,
            c2=options.c2 if self.c2 is None else self.c2,
            max_iterations=options.max_iterations if self.max_iterations is None else self.max_iterations,
        )
        used = self.features_.templates if self.use_times else templates.without_pauses(self.features_.templates)
        index, ids = attributes.fit(Batch.of(X), used, self.features_.lexicons)
        self.candidates_ = index.count
        self.training_log_: list[Progress] = []
        weights, transition = _train(ids, index.count, marks, labels, self.options_, self._report)
        keep = np.asarray((weights != 0).any(axis=1))
        kept = np.vstack([np.zeros(len(labels)), weights[keep]])
        self.chain_ = LinearChain(tuple(labels), index.select(keep), kept, transition)
        self.classes_ = np.array(labels)
        return self

    def predict(self, X: Sequence[Document]) -> list[list[str]]:
        """The best mark behind every word."""
        check_is_fitted(self, "chain_")
        return Tables(self.chain_).decode(X)

    def predict_marginals(self, X: Sequence[Document]) -> list[NDArray[np.float64]]:
        """The probability of every mark of `classes_` behind every word: (T, L) per document."""
        check_is_fitted(self, "chain_")
        return Tables(self.chain_).marginals(X)

    def score(self, X: Sequence[Document], y: Sequence[Sequence[str]] | None = None) -> float:
        """The F1 of every mark, weighted by how often it occurs in y (0 where it has none)."""
        marks = [document.marks or [] for document in X] if y is None else y
        pairs = Counter(
            (gold, found)
            for golds, founds in zip(marks, self.predict(X), strict=True)
            for gold, found in zip(golds, founds, strict=True)
        )
        score = 0.0
        for mark in set(self.classes_) - {""}:
            true = pairs[mark, mark]
            gold = sum(n for (g, _), n in pairs.items() if g == mark)
            found = sum(n for (_, f), n in pairs.items() if f == mark)
            score += gold * 2 * true / (gold + found) if gold else 0.0
        total = sum(n for (g, _), n in pairs.items() if g)
        return score / total if total else 0.0

    def _report(self, progress: Progress) -> None:
        self.training_log_.append(progress)
        if self.progress is not None:
            self.progress(progress)


def joined_parts(documents: Sequence[Document]) -> frozenset[str]:
    """Words that the mark `-` mostly joins to the next one (``polsko- rosyjskie``): first parts of compounds.

    A word counts where it stands at least twice and `-` follows it in most places; a verb of saying, which a dash
    follows now and then, is not among them.
    """
    total: Counter[str] = Counter()
    joined: Counter[str] = Counter()
    for document in documents:
        for word, mark in zip(document.words, document.marks or (), strict=True):
            if word.isalpha():
                total[word.lower()] += 1
                joined[word.lower()] += mark == "-"
    return frozenset(word for word, n in joined.items() if n >= 2 and 2 * n > total[word])


def _check(X: Sequence[Document], marks: Sequence[Sequence[str] | None]) -> list[str]:
    """The labels, no mark first and the others by frequency; CorpusError where the training set is unusable."""
    counts: Counter[str] = Counter()
    for document, given in zip(X, marks, strict=True):
        where = document.source or document.id or "a training document"
        if given is None:
            raise CorpusError(f"{where}: has no marks to learn from; train on punctuated text.")
        if len(given) != len(document.words):
            raise CorpusError(f"{where}: {len(given)} marks for {len(document.words)} words; give one for each word.")
        counts.update(given)
    if not counts:
        raise CorpusError("the training set has no words; check that it is not empty.")
    if len(counts) == 1:
        (only,) = counts
        found = f"only the mark {only!r}" if only else "no marks at all"
        raise CorpusError(f"the training set has {found}, so there is nothing to tell apart; train on punctuated text.")
    if len(counts) > _MOST_LABELS:
        raise CorpusError(
            f"the training set has {len(counts)} different marks, expected at most {_MOST_LABELS}; "
            f"check what stands behind the words."
        )
    return sorted(counts, key=lambda mark: (mark != "", -counts[mark], mark))


def _train(
    ids: NDArray[np.int32],
    attribute_count: int,
    marks: Sequence[Sequence[str] | None],
    labels: Sequence[str],
    options: templates.TrainOptions,
    report: Callable[[Progress], None],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights (A + 1, L) and transitions (L, L) by CRFsuite's L-BFGS (OWL-QN where c1 > 0)."""
    names = np.array([str(i) for i in range(attribute_count + 1)], dtype=object)

    def sequences() -> Iterator[list[list[str]]]:
        end = 0
        for given in marks:
            start, end = end, end + len(given or ())
            # CRFsuite takes strings; the same string objects are used over and over, so this costs pointers.
            yield [names[row[row > 0]].tolist() for row in ids[start:end]]

    class Reporting(pycrfsuite.Trainer):  # type: ignore[misc]
        """Passes iterations on; python-crfsuite's own `on_iteration` is called only when it prints as well."""

        def message(self, message: str) -> None:
            if self.logparser.feed(message) == "iteration":
                last = self.logparser.last_iteration
                report(Progress(last["num"], options.max_iterations, last["loss"]))

    crf = sklearn_crfsuite.CRF(
        algorithm="lbfgs",
        c1=options.c1,
        c2=options.c2,
        max_iterations=options.max_iterations,
        all_possible_transitions=True,
        trainer_cls=Reporting,
        verbose=False,
    )
    # Labels go by number: a mark may be spelled in any way.
    numbers = {label: str(number) for number, label in enumerate(labels)}
    crf.fit(sequences(), [[numbers[mark] for mark in given or ()] for given in marks])
    return _exact_weights(crf, attribute_count, len(labels))


def _exact_weights(
    crf: sklearn_crfsuite.CRF, attribute_count: int, labels: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The weights as CRFsuite stored them, in our order of labels.

    CRFsuite's text dump rounds to six decimals, so the numbers come from the model file itself: a section FEAT of
    20-byte records (u32 type, 0 state or 1 transition; u32 source; u32 target; f64 weight; little-endian) behind a
    12-byte header (CRFsuite 0.12, crf1d_model.c). Only the names come from the dump.
    """
    raw = Path(crf.modelfile.name).read_bytes()
    (offset,) = struct.unpack_from("<I", raw, 28)
    tag, size, count = struct.unpack_from("<4sII", raw, offset)
    if tag != b"FEAT":
        raise RuntimeError(f"CRFsuite's model file has {tag!r} where FEAT was expected; its format has changed.")
    kind = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
    records = np.frombuffer(raw, dtype=kind, count=(size - 12) // kind.itemsize or count, offset=offset + 12)

    info = crf.tagger_.info()
    label_of = np.zeros(len(info.labels), dtype=np.int64)
    for name, number in info.labels.items():
        label_of[int(number)] = int(name)
    attribute_of = np.zeros(len(info.attributes), dtype=np.int64)
    for name, number in info.attributes.items():
        attribute_of[int(number)] = int(name)

    weights = np.zeros((attribute_count + 1, labels))
    transition = np.zeros((labels, labels))
    state = records[records["type"] == 0]
    weights[attribute_of[state["source"]], label_of[state["target"]]] = state["weight"]
    step = records[records["type"] == 1]
    transition[label_of[step["source"]], label_of[step["target"]]] = step["weight"]
    return weights, transition
