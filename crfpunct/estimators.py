"""Training: scikit-learn estimators that fit through sklearn-crfsuite. Never imported when tagging."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pycrfsuite
import sklearn_crfsuite
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from crfpunct import attributes, casing, templates
from crfpunct.attributes import Batch
from crfpunct.casing import case_class
from crfpunct.chain import LinearChain, state
from crfpunct.document import Document
from crfpunct.errors import CorpusError, TemplateError
from crfpunct.observations import MARK
from crfpunct.prior import adapt
from crfpunct.tables import Tables
from crfpunct.truecaser import Truecaser, heard

_MOST_LABELS = 255  # a model folder keeps label numbers as bytes


@dataclass(frozen=True, slots=True)
class Progress:
    """One step, as shown to the user: iteration (from 1) of at most `limit`, and the loss.

    Iteration 0 begins with the extraction of features; it has no loss (NaN). Nor have folds of cross-validation.
    """

    iteration: int
    limit: int
    loss: float = math.nan


class _ChainCRF(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What both estimators share: training options, and a chain once it is fitted."""

    features: str | Path | templates.FeatureSet
    c1: float | None
    c2: float | None
    max_iterations: int | None
    bias: float | None
    most_attributes: int | None
    device: str
    progress: Callable[[Progress], None] | None

    def _fit(
        self,
        X: Sequence[Document],
        y: Sequence[Sequence[str] | None],
        neutral: str,
        used: tuple[templates.Template, ...],
        lexicons: Mapping[str, Mapping[str, str]],
        prior: LinearChain | None = None,
        apart: attributes.Apart | None = None,
    ) -> None:
        """Set options_, candidates_, training_log_, chain_ and classes_; the neutral label gets number 0.

        The CRF is trained on states: one for each label, and those that options_.split asks for.

        With a prior, adapted_ is what was learned on top of it, and chain_ both together.
        """
        labels = _labels(X, y, neutral)
        chosen = {name: getattr(self, name) for name in ("c1", "c2", "max_iterations", "bias", "most_attributes")}
        self.options_ = replace(
            self.features_.options, **{name: value for name, value in chosen.items() if value is not None}
        )
        if self.progress is not None:
            self.progress(Progress(0, self.options_.max_iterations))
        index, ids = attributes.fit(Batch.of(X), used, lexicons, apart)
        self.candidates_ = index.count
        if self.options_.min_documents > 1 or self.options_.most_attributes:
            index, ids = self._selected(index, ids, X, [labels.index(mark) for given in y for mark in given or ()])
        self.training_log_: list[Progress] = []
        split = [mark for mark in self.options_.split if mark in labels]
        states = [*labels, *(state(neutral, mark) for mark in split)]
        taught = [_taught(given or (), labels, split) for given in y]
        given = None if prior is None else _Given.of(prior, X, taught)
        scores = None if given is None else given.scores
        weights, transition, taken = _train(ids, index.count, taught, len(states), self.options_, self._report, scores)
        keep = np.asarray((weights != 0).any(axis=1))
        kept = np.vstack([np.zeros(len(states)), weights[keep]])
        chain = LinearChain(tuple(states), index.select(keep), kept, transition, np.zeros(len(states)))
        self.chain_ = replace(
            chain, bias=np.array([0.0 if label == neutral else self.options_.bias for label in chain.labels])
        )
        if prior is not None and given is not None:
            self.adapted_ = adapt(prior, self.chain_, *given.on_prior(taken))
            self.chain_ = self.adapted_.folded()
        self.classes_ = np.array(labels)

    def _selected(
        self, index: attributes.AttributeIndex, ids: NDArray[np.int32], X: Sequence[Document], labels: Sequence[int]
    ) -> tuple[attributes.AttributeIndex, NDArray[np.int32]]:
        """The attributes that the options keep, and the ids of the tokens renumbered to match."""
        from crfpunct.clusters import backend, selection

        keep = selection.select(
            ids,
            np.array([len(document.words) for document in X], dtype=np.int64),
            np.array(labels, dtype=np.int64),
            index.count,
            most_attributes=self.options_.most_attributes or None,
            min_documents=self.options_.min_documents,
            backend=backend.choose(self.device)[0],
        )
        return index.select(keep), selection.renumber(ids, keep)

    def predict(self, X: Sequence[Document]) -> list[list[str]]:
        """The best label of every word."""
        check_is_fitted(self, "chain_")
        return Tables(self.chain_).decode(X)

    def predict_marginals(self, X: Sequence[Document]) -> list[NDArray[np.float64]]:
        """The probability of every label of `classes_` at every word: (T, L) per document."""
        check_is_fitted(self, "chain_")
        return Tables(self.chain_).marginals(X)

    def _weighted_f1(self, X: Sequence[Document], y: Sequence[Sequence[str]], neutral: str) -> float:
        """The F1 of every label but the neutral one, weighted by how often it occurs in y (0 where none does)."""
        pairs = Counter(
            (gold, found)
            for golds, founds in zip(y, self.predict(X), strict=True)
            for gold, found in zip(golds, founds, strict=True)
        )
        score = 0.0
        for label in set(self.classes_.tolist()) - {neutral}:
            gold = sum(n for (g, _), n in pairs.items() if g == label)
            found = sum(n for (_, f), n in pairs.items() if f == label)
            score += gold * 2 * pairs[label, label] / (gold + found) if gold else 0.0
        total = sum(n for (g, _), n in pairs.items() if g != neutral)
        return score / total if total else 0.0

    def _report(self, progress: Progress) -> None:
        self.training_log_.append(progress)
        if self.progress is not None:
            self.progress(progress)


class PunctuationCRF(_ChainCRF):
    """A linear-chain CRF that places a mark behind each word.

    X is a list of documents and y their marks, a list of T strings for each, so that cross-validation never cuts a
    document. Features are those of a feature file; c1, c2, max_iterations, bias and most_attributes override its
    [train] options. With use_times=False the templates that look at pauses are left out, as for texts without word
    times. prior: a CRF trained with use_times=False on other text, that this one is to build on (`crfpunct.prior`).
    device: "cpu", "cuda" or "auto", for the choice of attributes (`crfpunct.clusters.backend`).

    After `fit`: chain_ (the CRF), classes_ (its labels), features_, options_, training_log_, candidates_ (attributes
    before those without a weight were dropped), with a prior adapted_ (what was learned on top of it).
    """

    def __init__(
        self,
        features: str | Path | templates.FeatureSet = "punct",
        use_times: bool = True,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        bias: float | None = None,
        most_attributes: int | None = None,
        device: str = "cpu",
        prior: LinearChain | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self.features = features
        self.use_times = use_times
        self.prior = prior
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.bias = bias
        self.most_attributes = most_attributes
        self.device = device
        self.progress = progress

    def fit(self, X: Sequence[Document], y: Sequence[Sequence[str]] | None = None) -> PunctuationCRF:
        """Train on documents X and their marks y (by default the documents' own).

        Raises CorpusError where there is nothing to learn from: no words, or one label only; TemplateError where a
        template looks at the marks.
        """
        self.features_ = templates.load(self.features)
        looks_at_marks = [t.name for t in self.features_.templates if any(o.name == MARK for o, _ in t.use)]
        if looks_at_marks:
            raise TemplateError(
                f"{self.features}: template {looks_at_marks[0]!r} looks at the marks, which this model is to place; "
                f"take it out."
            )
        used = self.features_.templates if self.use_times else templates.without_pauses(self.features_.templates)
        if self.use_times:
            # What a sentence is, pauses tell as well (docs/accuracy.md), and without such states decoding is faster.
            self.features_ = replace(self.features_, options=replace(self.features_.options, split=()))
        self._fit(X, [d.marks for d in X] if y is None else y, "", used, self.features_.lexicons, self.prior)
        return self

    def score(self, X: Sequence[Document], y: Sequence[Sequence[str]] | None = None) -> float:
        """The F1 of every mark, weighted by how often it occurs in y."""
        return self._weighted_f1(X, [document.marks or [] for document in X] if y is None else y, "")


class TruecasingCRF(_ChainCRF):
    """A linear-chain CRF that finds the case class (`casing.CLASSES`) of each word, given the marks between the words.

    X is a list of documents whose words have their case and whose marks are known; y, their classes, follows from the
    words. Features are those of a feature file, as for `PunctuationCRF`.

    After `fit`: truecaser_ (the model that spells words), and what `PunctuationCRF` has.
    """

    def __init__(
        self,
        features: str | Path | templates.FeatureSet = "case",
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        bias: float | None = None,
        most_attributes: int | None = None,
        device: str = "cpu",
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self.features = features
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.bias = bias
        self.most_attributes = most_attributes
        self.device = device
        self.progress = progress

    def fit(self, X: Sequence[Document], y: Sequence[Sequence[str]] | None = None) -> TruecasingCRF:
        """Train on cased and punctuated documents X.

        Raises CorpusError where the text has no capitals, or nothing but capitals.
        """
        self.features_ = templates.load(self.features)
        spelling = casing.Spelling(upper=self.features_.upper)
        views = [heard(document) for document in X]  # as `Truecaser` looks at what it is given
        texts = [view for view, _ in views]
        given = [[case_class(word) for word in d.words] for d in X] if y is None else y
        classes = [c if at is None else [c[i] for i in at] for c, (_, at) in zip(given, views, strict=True)]
        _check_case(classes)
        ordinary = [casing.ordinary_places(d.words, d.marks or [""] * len(d.words)) for d in texts]
        classes = [[cases[i] for i in places] for cases, places in zip(classes, ordinary, strict=True)]
        texts = [_at(document, places) for document, places in zip(texts, ordinary, strict=True)]
        if given and any(given) and all(case == "LOWER" for cases in classes for case in cases):
            raise CorpusError(
                "the training text has capitals in sentences in capitals alone, which tell nothing; "
                "train case on text in ordinary upper and lower case."
            )
        learned = casing.learn(((d.words, d.marks or [""] * len(d.words)) for d in texts), spelling.lowered)
        lexicons = {**self.features_.lexicons, **dict.fromkeys(self.features_.learned, casing.OwnCase(learned.casing))}
        apart = _learned_apart(texts, self.features_.learned, spelling)
        if spelling.upper:
            texts = [replace(d, words=[spelling.lowered(word) for word in d.words]) for d in texts]
        self._fit(texts, classes, "LOWER", self.features_.templates, lexicons, apart=apart)
        self.truecaser_ = Truecaser(self.chain_, casing.Spelling(learned.surface, self.features_.upper, learned.casing))
        return self

    def predict(self, X: Sequence[Document]) -> list[list[str]]:
        """The class of every word."""
        check_is_fitted(self, "chain_")
        return self.truecaser_.classes(X)

    def score(self, X: Sequence[Document], y: Sequence[Sequence[str]] | None = None) -> float:
        """The F1 of every class but LOWER, weighted by how often it occurs in y."""
        return self._weighted_f1(X, [[case_class(w) for w in d.words] for d in X] if y is None else y, "LOWER")


def _learned_apart(
    texts: Sequence[Document], names: Collection[str], spelling: casing.Spelling
) -> attributes.Apart | None:
    """The lexicons of these names for each part of the training texts; None without names."""
    if not names:
        return None
    pairs = [(document.words, document.marks or [""] * len(document.words)) for document in texts]
    learned, part_of = casing.learn_from_others(pairs, spelling.lowered)
    return attributes.Apart([dict.fromkeys(names, casing.OwnCase(own)) for own in learned], np.array(part_of, int))


def _at(document: Document, places: Sequence[int]) -> Document:
    """Some of a document's words, with their marks."""
    if len(places) == len(document.words):
        return document
    words, marks = document.words, document.marks
    return Document(
        document.id, [words[i] for i in places], marks=marks and [marks[i] for i in places], source=document.source
    )


@dataclass(frozen=True, slots=True)
class _Given:
    """What a prior CRF says of N tokens, as features: how much it prefers each label to its neutral one.

    scores (N, K - 1) = _SCORE_SCALE * (prior's score of a label - that of the neutral one) + shift.
    """

    scores: NDArray[np.float64]
    shift: NDArray[np.float64]

    @staticmethod
    def of(prior: LinearChain, documents: Sequence[Document], states: Sequence[Sequence[int]]) -> _Given:
        rows, starts, lengths = Tables(prior).emissions(documents)
        places = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        scores = _SCORE_SCALE * (rows[places, 1:] - rows[places, :1])
        # CRFsuite drops a feature whose values at the tokens of a label add up to less than 0 (crf1d_feature.c). A
        # shift that makes none negative would do, but a small one lets the optimiser go faster.
        taught = np.array([number for given in states for number in given])
        means = np.array([scores[taught == number].mean(axis=0) for number in np.unique(taught)])
        shift = _MARGIN - means.min(axis=0)
        return _Given(scores + shift, shift)

    def on_prior(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights (K - 1, L) learned for the features, as weights (K, L) on the prior's scores and constants."""
        scaled = _SCORE_SCALE * weights
        return np.vstack([-scaled.sum(axis=0), scaled]), self.shift @ weights


_MARGIN = 0.01  # against rounding
_SCORE_SCALE = 0.2  # brings scores to the size of other features, 0 or 1, so that the optimiser goes as fast with them


def _check_case(classes: Sequence[Sequence[str]]) -> None:
    counts = Counter(case for cases in classes for case in cases)
    raised = counts.total() - counts["LOWER"]
    if counts and not raised:
        raise CorpusError("the training text has no capital letter; train case on text written with capitals.")
    if counts["UPPER"] > 0.9 * counts.total():
        raise CorpusError("the training text is all in capitals; train case on text in ordinary upper and lower case.")


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


def _labels(X: Sequence[Document], marks: Sequence[Sequence[str] | None], neutral: str) -> list[str]:
    """The labels, the neutral one first and the others by frequency; CorpusError where the training set is unusable."""
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
    return sorted(counts, key=lambda mark: (mark != neutral, -counts[mark], mark))


def _taught(given: Sequence[str], labels: Sequence[str], split: Sequence[str]) -> list[int]:
    """The number of the state of every token: of its label, or, without a mark, of the sentence that it is in.

    A sentence begins behind any mark but a comma, so that `Zapytał: czy` asks from the second word on.

    >>> _taught(["", ".", "", ",", "", "?", ""], ["", ".", ",", "?"], ["?"])
    [0, 1, 4, 2, 4, 3, 0]
    """
    number_of = {label: number for number, label in enumerate(labels)}
    kind_of = {mark: len(labels) + i for i, mark in enumerate(split)}
    found = [number_of[label] for label in given]
    kind = 0
    for place in range(len(found) - 1, -1, -1):
        if found[place] == 0:
            found[place] = kind
        elif given[place] != ",":
            kind = kind_of.get(given[place], 0)
    return found


def _train(
    ids: NDArray[np.int32],
    attribute_count: int,
    taught: Sequence[Sequence[int]],
    states: int,
    options: templates.TrainOptions,
    report: Callable[[Progress], None],
    scores: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Weights (A + 1, L) and transitions (L, L) by CRFsuite's L-BFGS (OWL-QN where c1 > 0).

    taught: the number of every token's state, of `states`, by document.
    scores (N, K): values, none of them negative, of K real-valued features; their weights (K, L) come last.
    """
    names = np.array([str(i) for i in range(attribute_count + 1)], dtype=object)
    valued = [str(attribute_count + 1 + k) for k in range(0 if scores is None else scores.shape[1])]

    def sequences() -> Iterator[list[list[str]] | list[dict[str, float]]]:
        end = 0
        for given in taught:
            start, end = end, end + len(given)
            # CRFsuite takes strings; the same string objects are used over and over, so this costs pointers.
            tokens = [names[row[row > 0]].tolist() for row in ids[start:end]]
            if scores is None:
                yield tokens
            else:
                values = scores[start:end].tolist()
                yield [
                    dict.fromkeys(t, 1.0) | dict(zip(valued, v, strict=True))
                    for t, v in zip(tokens, values, strict=True)
                ]

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
    # They go by number: a mark may be spelled in any way.
    numbers = [str(number) for number in range(states)]
    crf.fit(sequences(), [[numbers[number] for number in given] for given in taught])
    weights, transition = _exact_weights(crf, attribute_count + len(valued), states)
    return weights[: attribute_count + 1], transition, weights[attribute_count + 1 :]


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
