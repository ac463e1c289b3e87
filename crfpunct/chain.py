"""A trained linear-chain CRF: labels, attributes, weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfpunct.attributes import AttributeIndex, Batch
from crfpunct.document import Document
from crfpunct.errors import ModelError
from crfpunct.templates import Template


@dataclass(frozen=True, slots=True)
class LinearChain:
    """A trained CRF.

    labels: L labels; the first is the neutral one (`""`, no mark), so that a tie means no mark.
    index: the attributes, A of them. weights: (A + 1, L) float64, row 0 zero (an attribute never seen).
    transition: (L, L) float64, from row to column.
    bias: (L,) float64, added to every token's scores when labels are decided, and not to probabilities: training
    maximises likelihood, and the labels of the best F1 are others (Lipton, Elkan, Naryanaswamy 2014).
    """

    labels: tuple[str, ...]
    index: AttributeIndex
    weights: NDArray[np.float64]
    transition: NDArray[np.float64]
    bias: NDArray[np.float64]

    def emissions(self, documents: Sequence[Document]) -> NDArray[np.float64]:
        """The score of every label at every token, documents laid end to end: (T, L).

        The slow, plain way, which `tables` is tested against.
        """
        ids = self.index.transform(Batch.of(documents))
        scores = np.zeros((len(ids), len(self.labels)))
        for m in range(ids.shape[1]):
            scores += self.weights[ids[:, m]]
        return scores

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The index and, per attribute, the labels that have a weight, with their weights."""
        rows, columns = np.nonzero(self.weights[1:])
        return self.index.to_arrays() | {
            "weight_count": np.bincount(rows, minlength=self.index.count).astype(np.uint8),
            "weight_label": columns.astype(np.uint8),
            "weight": self.weights[1:][rows, columns],
            "transition": self.transition,
            "bias": self.bias,
        }

    @staticmethod
    def from_arrays(
        arrays: Mapping[str, NDArray[Any]],
        labels: Sequence[str],
        templates: tuple[Template, ...],
        lexicons: Mapping[str, Mapping[str, str]],
    ) -> LinearChain:
        """The inverse of `to_arrays`; ModelError where the arrays do not fit together."""
        index = AttributeIndex.from_arrays(arrays, templates, lexicons)
        size = len(labels)
        try:
            weights = np.zeros((index.count + 1, size))
            rows = np.repeat(np.arange(1, index.count + 1), arrays["weight_count"])
            weights[rows, arrays["weight_label"]] = arrays["weight"]
            transition = arrays["transition"].astype(np.float64)
            bias = arrays["bias"].astype(np.float64)
            if transition.shape != (size, size) or bias.shape != (size,):
                raise ValueError(f"transitions of shape {transition.shape}, bias of {bias.shape} for {size} labels")
        except (KeyError, ValueError, IndexError) as error:
            raise ModelError(f"its weights do not fit its attributes ({error}); train or fetch it again.") from error
        return LinearChain(tuple(labels), index, weights, transition, bias)
