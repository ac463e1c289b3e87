"""Why a model decides as it does: the weights behind each label, at a place of a text and in the model as a whole.

A label's score at a place is the sum of the weights of the attributes found there; a path's score adds each label's
bias and the transitions between neighbours, and the best path is taken. A decision is explained by what sets the label
chosen apart from the runner-up, which is the most probable of the other labels, while the neighbours stay as they were
decided: its lead is the sum of its reasons, and it is never negative, since the other path is not better.
Probabilities are those of the model at its temperature and without the bias (see `chain.LinearChain`), so a label can
be chosen although the runner-up is more probable.

Everything goes the plain way, through `AttributeIndex` and `LinearChain`, not through the compiled tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crfpunct import decoding
from crfpunct.attributes import Batch
from crfpunct.casing import case_class
from crfpunct.chain import OF_SENTENCE, LinearChain
from crfpunct.document import Document
from crfpunct.errors import CorpusError, ModelError
from crfpunct.punctuator import Punctuator
from crfpunct.truecaser import Truecaser, heard


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that was seen, with its weight for the label chosen and for the runner-up.

    template: the name of its template, or `""` for the bias and the labels beside the place.
    seen: the attribute as ``observation[offset]=value …``, or what else it is.
    """

    template: str
    seen: str
    chosen: float
    runner_up: float

    @property
    def lead(self) -> float:
        """What it adds to the lead of the label chosen."""
        return self.chosen - self.runner_up


@dataclass(frozen=True, slots=True)
class Decision:
    """The label of one place (from 0), the runner-up, and the reasons.

    attributes: those with a weight for one of the two labels, the largest difference first. path: what else counts, the
    bias and the transitions from and to the neighbours' labels.
    """

    place: int
    label: str
    runner_up: str
    attributes: tuple[Reason, ...]
    path: tuple[Reason, ...]

    @property
    def lead(self) -> float:
        """By how much the path taken is better than the same path with the runner-up at this place."""
        return sum(reason.lead for reason in (*self.attributes, *self.path))


@dataclass(frozen=True)
class Explained:
    """A document, the labels decided for it, and why.

    document: the text as the model looks at it. words: T words as they are shown. given: the label that the text itself
    has at each place, if it has any. chain: "text", "timed" or "case". found: T labels. probabilities (T, K), by
    `labels`, rows sum to 1. gaps_ms (T,): the pause behind each word, -1 where it is unknown.
    """

    document: Document
    words: list[str]
    given: list[str] | None
    chain: str
    explainer: Explainer = field(repr=False)
    found: list[str]
    probabilities: NDArray[np.float64]
    gaps_ms: NDArray[np.int64]
    _states: NDArray[np.int64] = field(repr=False)
    _of_states: NDArray[np.float64] = field(repr=False)
    _ids: NDArray[np.int32] = field(repr=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the CRF, the neutral one first: (K,)."""
        return self.explainer.chain.distinct

    @property
    def placed(self) -> list[int]:
        """The places, from 0, that have another label than the neutral one."""
        return [place for place, label in enumerate(self.found) if label != self.labels[0]]

    def probability(self, place: int, label: str | None = None) -> float:
        """How probable a label is at a place; by default the one decided for."""
        return float(self.probabilities[place, self.labels.index(self.found[place] if label is None else label)])

    @cached_property
    def _pairs(self) -> NDArray[np.int64]:
        """(T, 2) the numbers of the state chosen, and of the likeliest state of the runner-up, at every place."""
        labels = np.array(self.explainer.chain.labels)
        others = np.where(labels[self._states][:, None] == np.array(self.labels), -1.0, self.probabilities)
        runner_up = np.array(self.labels)[others.argmax(axis=1)]
        of_runner_up = np.where(labels == runner_up[:, None], self._of_states, -1.0)
        return np.stack([self._states, of_runner_up.argmax(axis=1)], axis=1)

    def decision(self, place: int) -> Decision:
        """Why the label at a place, counted from 0."""
        chain = self.explainer.chain
        chosen, runner_up = both = self._pairs[place].tolist()

        ids = self._ids[place]
        pairs = zip(ids.tolist(), chain.weights[np.ix_(ids, both)].tolist(), strict=True)
        attributes = [Reason(*self.explainer.named[number], *weights) for number, weights in pairs if any(weights)]
        attributes.sort(key=lambda r: (-abs(r.lead), -abs(r.chosen), r.seen))

        def reason(seen: str, weights: NDArray[np.float64]) -> Reason:
            return Reason("", seen, *weights.tolist())

        path = [reason("bias", chain.bias[both])]
        if place > 0:
            before = self._states[place - 1]
            path.append(reason(f"label before: {state_name(chain.states[before])}", chain.transition[before, both]))
        if place + 1 < len(self.found):
            behind = self._states[place + 1]
            path.append(reason(f"label after: {state_name(chain.states[behind])}", chain.transition[both, behind]))
        return Decision(place, chain.labels[chosen], chain.labels[runner_up], tuple(attributes), tuple(path))

    def differences(self) -> NDArray[np.float64]:
        """(placed, templates): what each template adds to the lead at every place that has a label of its own."""
        places = np.array(self.placed, dtype=np.int64)
        chosen, runner_up = self._pairs[places].T
        ids, weights = self._ids[places], self.explainer.chain.weights
        result: NDArray[np.float64] = weights[ids, chosen[:, None]] - weights[ids, runner_up[:, None]]
        return result


def state_name(state: str) -> str:
    """A state as it is shown: its label, and the mark of its sentence if that has states of its own."""
    label, _, sentence = state.partition(OF_SENTENCE)
    return f"{label or 'none'}, in a sentence with {sentence}" if sentence else label or "none"


@dataclass(frozen=True, slots=True)
class Share:
    """A template's part in the decisions, 0 … 1, and how many attributes it has in the model.

    use: what it looks at, as in the feature file. pauses: whether it looks at word times.
    """

    template: str
    use: str
    pauses: bool
    attributes: int
    share: float


@dataclass(frozen=True)
class Explainer:
    """Explains one chain. Immutable; what it works out about the model it keeps."""

    chain: LinearChain

    @cached_property
    def named(self) -> list[tuple[str, str]]:
        """Every attribute, by its id: its template's name, and what is seen as ``observation[offset]=value …``."""
        described = self.chain.index.describe()
        names = [("", described[0])]
        for template, keys in zip(self.chain.index.templates, self.chain.index.keys, strict=True):
            own = described[len(names) : len(names) + len(keys)]
            names += [(template.name, shown.removeprefix(f"{template.name}: ")) for shown in own]
        return names

    def strongest(self, state: str, top: int) -> tuple[list[tuple[str, str, float]], list[tuple[str, str, float]]]:
        """The attributes with the largest and with the smallest weights for a state, at most `top` each.

        Each is (template, what is seen, weight); the strongest first.
        """
        weights = self.chain.weights[:, self.chain.states.index(state)]
        order = np.argsort(weights, kind="stable")
        negative = [int(i) for i in order[:top] if weights[i] < 0]
        positive = [int(i) for i in order[::-1][:top] if weights[i] > 0]

        def weighted(chosen: Iterable[int]) -> list[tuple[str, str, float]]:
            return [(*self.named[i], float(weights[i])) for i in chosen]

        return weighted(positive), weighted(negative)

    def shares(self, texts: Sequence[Explained] | None = None) -> list[Share]:
        """Each template's share, in the feature file's order; they sum to 1 (or all are 0, where there is nothing).

        Without texts: the absolute weights of the template's attributes for all states, of all that the model has. It
        says what the model knows, not how often it needs it. With texts: over all places with a label other than
        the neutral one, the absolute differences that the template makes between the label and the runner-up, of all
        that the templates make; the bias and the transitions are no part of it.
        """
        index = self.chain.index
        if texts is None:
            by_attribute = np.abs(self.chain.weights[1:]).sum(axis=1)
            bounds = np.append(index.first_ids(), index.count + 1) - 1
            parts = [by_attribute[a:b].sum() for a, b in itertools.pairwise(bounds)]
            sums = np.array(parts, dtype=np.float64)
        else:
            sums = np.zeros(len(index.templates))
            for text in texts:
                sums += np.abs(text.differences()).sum(axis=0)
        total = float(sums.sum())
        return [
            Share(
                template.name,
                str(template),
                any(observation.is_pause for observation, _ in template.use),
                len(keys),
                float(part) / total if total else 0.0,
            )
            for template, keys, part in zip(index.templates, index.keys, sums, strict=True)
        ]

    def texts(self, chain: str, views: Sequence[View]) -> list[Explained]:
        """Decide the labels of texts and keep what they were decided by; chain: this CRF's name in its model."""
        documents = [view.document for view in views]
        batch = Batch.of(documents)
        ids = self.chain.index.transform(batch)
        emission = np.zeros((len(ids), len(self.chain.states)))
        for column in ids.T:
            emission += self.chain.weights[column]
        lengths = np.array([len(document.words) for document in documents], dtype=np.int64)
        best = decoding.viterbi(emission + self.chain.bias, self.chain.transition, lengths)
        temperature = self.chain.temperature
        shares = decoding.marginals(emission / temperature, self.chain.transition / temperature, lengths)
        gaps = batch.pauses.gap_ms.astype(np.int64)
        explained = []
        for view, end, length in zip(views, np.cumsum(lengths).tolist(), lengths.tolist(), strict=True):
            own = slice(end - length, end)
            found = [self.chain.labels[i] for i in best[own].tolist()]
            words = list(map(view.spell, view.document.words, found)) if view.spell else view.document.words
            text = Explained(
                view.document,
                words,
                view.given,
                chain,
                self,
                found,
                self.chain.by_label(shares[own]),
                gaps[own],
                best[own],
                shares[own],
                ids[own],
            )
            explained.append(text)
        return explained


@dataclass(frozen=True, slots=True)
class View:
    """A text as its CRF looks at it, and the labels that it has itself, if any.

    spell: gives the form of a (word, label) that is shown; without it words are shown as they are.
    """

    document: Document
    given: list[str] | None = None
    spell: Callable[[str, str], str] | None = None


def explain_marks(
    punctuator: Punctuator, documents: Sequence[Document], chain: Literal["text", "timed"] | None = None
) -> list[Explained]:
    """Explain the marks of documents, whose own marks are looked at only to be shown.

    chain: the CRF to ask; by default the one that the punctuator takes for each document. CorpusError where a document
    has no times for the one with pauses, ModelError where the model has no such CRF.
    """
    if chain == "timed" and punctuator.timed is None:
        raise ModelError("the model has no CRF for texts with word times; leave out --chain timed.")
    places: dict[str, list[int]] = {"text": [], "timed": []}
    for i, document in enumerate(documents):
        if chain == "timed" and (document.times_ms is None or not (document.times_ms >= 0).any()):
            raise CorpusError(
                f"{document.source or document.id}: has no word times, which --chain timed listens to; "
                "give them by --times, or leave out --chain timed."
            )
        places[chain or ("timed" if punctuator.chain_for(document) is punctuator.timed else "text")].append(i)
    explained: dict[int, Explained] = {}
    for name, own in places.items():
        if own:
            explainer = Explainer(punctuator.timed or punctuator.text if name == "timed" else punctuator.text)
            views = [
                View(replace(documents[i], marks=None), documents[i].marks if any(documents[i].marks or ()) else None)
                for i in own
            ]
            explained.update(zip(own, explainer.texts(name, views), strict=True))
    return [explained[i] for i in range(len(documents))]


def explain_case(
    truecaser: Truecaser, documents: Sequence[Document], punctuator: Punctuator | None = None
) -> list[Explained]:
    """Explain the case of documents; their marks are taken as they are, or placed by a punctuator if there are none."""
    views = []
    for document in documents:
        if not any(document.marks or ()) and punctuator is not None:
            document = replace(document, marks=punctuator.marks([replace(document, marks=None)])[0])
        view, _ = heard(document)
        classes: list[str] = [case_class(word) for word in view.words]
        given = classes if any(case != truecaser.chain.labels[0] for case in classes) else None
        view = replace(view, words=[truecaser.spelling.lowered(word) for word in view.words])
        views.append(View(view, given, truecaser.spelling.spell))
    return Explainer(truecaser.chain).texts("case", views)
