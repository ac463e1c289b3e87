"""Restoring marks: trained models applied to documents. Imports numpy and nothing heavier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfpunct import decoding, model_folder, resources, templates
from crfpunct.attributes import AttributeIndex, Batch
from crfpunct.document import Document
from crfpunct.errors import ModelError
from crfpunct.marks import Typography

#: Tokens that are tagged together; enough to make the cost of each numpy call small, few enough to stay in memory.
BATCH_TOKENS = 1 << 15


@dataclass(frozen=True, slots=True)
class Punctuator:
    """A trained linear-chain CRF that places marks.

    labels: L marks; the first is `""`, no mark, so that a tie means no mark.
    index: the attributes, A of them. weights: (A + 1, L) float64, row 0 zero (an attribute never seen).
    transition: (L, L) float64, from row to column.
    """

    labels: tuple[str, ...]
    index: AttributeIndex
    weights: NDArray[np.float64]
    transition: NDArray[np.float64]

    def emissions(self, documents: Sequence[Document]) -> NDArray[np.float64]:
        """The score of every label at every token of the documents, laid end to end: (T, L)."""
        ids = self.index.transform(Batch.of(documents))
        scores = np.zeros((len(ids), len(self.labels)))
        for m in range(ids.shape[1]):
            scores += self.weights[ids[:, m]]
        return scores

    def marks(self, documents: Sequence[Document]) -> list[list[str]]:
        """The best mark behind every word of every document."""
        lengths = _lengths(documents)
        best = decoding.viterbi(self.emissions(documents), self.transition, lengths)
        names = np.array(self.labels, dtype=object)[best].tolist()
        ends = np.cumsum(lengths).tolist()
        return [names[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]

    def marginals(self, documents: Sequence[Document]) -> NDArray[np.float64]:
        """The probability of every mark behind every word: (T, L), documents laid end to end."""
        return decoding.marginals(self.emissions(documents), self.transition, _lengths(documents))

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The index and, per attribute, the labels that have a weight, with their weights."""
        rows, columns = np.nonzero(self.weights[1:])
        return self.index.to_arrays() | {
            "weight_count": np.bincount(rows, minlength=self.index.count).astype(np.uint8),
            "weight_label": columns.astype(np.uint8),
            "weight": self.weights[1:][rows, columns],
            "transition": self.transition,
        }

    @staticmethod
    def from_arrays(
        arrays: Mapping[str, NDArray[Any]], labels: Sequence[str], features: templates.FeatureSet
    ) -> Punctuator:
        """The inverse of `to_arrays`; ModelError where the arrays do not fit together."""
        index = AttributeIndex.from_arrays(arrays, features.templates, features.lexicons)
        size = len(labels)
        try:
            weights = np.zeros((index.count + 1, size))
            rows = np.repeat(np.arange(1, index.count + 1), arrays["weight_count"])
            weights[rows, arrays["weight_label"]] = arrays["weight"]
            transition = arrays["transition"].astype(np.float64)
            if transition.shape != (size, size):
                raise ValueError(f"transitions of shape {transition.shape} for {size} labels")
        except (KeyError, ValueError, IndexError) as error:
            raise ModelError(f"its weights do not fit its attributes ({error}); train or fetch it again.") from error
        return Punctuator(tuple(labels), index, weights, transition)


def _lengths(documents: Sequence[Document]) -> NDArray[np.int64]:
    return np.array([len(document.words) for document in documents], dtype=np.int64)


class Restorer:
    """A model folder, loaded and ready to restore text. Immutable, so that threads can share it."""

    def __init__(self, punctuator: Punctuator, typography: Typography, manifest: Mapping[str, Any]) -> None:
        self.punctuator = punctuator
        self.typography = typography
        self.manifest = manifest

    def tag(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Each document with its marks, in order; reads no further ahead than one batch.

        A word that already ends in a mark keeps it and gets no second one.
        """
        for batch in _batches(documents):
            for document, marks in zip(batch, self.punctuator.marks(batch), strict=True):
                yield replace(document, marks=marks)

    def restore(self, text: str) -> str:
        """One text with its marks, for readers.

        >>> import crfpunct
        >>> crfpunct.load("pl").restore("dzień dobry jak się pan miewa")
        'dzień dobry, jak się pan miewa?'
        """
        words = text.split()
        (document,) = self.tag([Document("", words)])
        assert document.marks is not None
        separators = self.typography.separators(words, document.marks)
        return "".join(word + separator for word, separator in zip(words, separators, strict=True))


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    tokens = 0
    for document in documents:
        batch.append(document)
        tokens += len(document.words)
        if tokens >= BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
    if batch:
        yield batch


def load(name: str | Path = "pl") -> Restorer:
    """Load a model: a folder, or the name of a shipped one. ModelError where there is none or it is not whole."""
    folder = resources.find_model(name)
    try:
        return _load(folder)
    except ModelError as error:
        message = str(error)
        raise ModelError(message if message.startswith(str(folder)) else f"{folder}: {message}") from error


def _load(folder: Path) -> Restorer:
    stored = model_folder.read(folder)
    part = stored.manifest.get("punct")
    if not isinstance(part, dict):
        raise ModelError("has no punctuation part; train one with `crfpunct train … --into`.")
    features = templates.load(folder / "templates" / part["features"], folder / "templates")
    punctuator = Punctuator.from_arrays(stored.arrays("punct.npz"), part["labels"], features)
    typography = Typography(frozenset(part["joined_parts"]), features.dash)
    return Restorer(punctuator, typography, stored.manifest)
