"""A trained linear-chain CRF: labels, attributes, weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfpunct.attributes import AttributeIndex, Batch
from crfpunct.document import Document
from crfpunct.errors import ModelError
from crfpunct.templates import Template

OF_SENTENCE = "|"  # in the name of a state between its label and the mark that its sentence ends in


def state(label: str, sentence: str = "") -> str:
    """The name of the state of a label; of those in sentences that end in a mark of their own, with that mark."""
    return f"{label}{OF_SENTENCE}{sentence}" if sentence else label


@lru_cache(maxsize=64)
def _labels(states: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.partition(OF_SENTENCE)[0] for name in states)


@dataclass(frozen=True, slots=True)
class LinearChain:
    """A trained CRF.

    states: L states, each of one label; the first is that of the neutral label (`""`, no mark), so that a tie means no
    mark. First come the K labels, each with its state; then further states of the neutral label, which tell words
    of a question from others (`templates.TrainOptions.split`) and are folded away when labels are given back.
    index: the attributes, A of them. weights: (A + 1, L) float64, row 0 zero (an attribute never seen).
    transition: (L, L) float64, from row to column.
    bias: (L,) float64, added to every token's scores when labels are decided, and not to probabilities: training
    maximises likelihood, and the labels of the best F1 are others (Lipton, Elkan, Naryanaswamy 2014).
    temperature: all scores are divided by it before they become probabilities; labels do not depend on it. It is fitted
    to texts that the model was not trained on, where training alone makes it too sure (Guo et al. 2017).
    """

    states: tuple[str, ...]
    index: AttributeIndex
    weights: NDArray[np.float64]
    transition: NDArray[np.float64]
    bias: NDArray[np.float64]
    temperature: float = 1.0
    # The step of `on_grid`, for the chain that it gave alone: `replace` does not hand it on.
    _grid: float = field(default=0.0, init=False, repr=False, compare=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """(L,) the label of every state."""
        return _labels(self.states)

    @property
    def distinct(self) -> tuple[str, ...]:
        """(K,) the labels, each once."""
        return tuple(dict.fromkeys(self.labels))

    def by_label(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the states (T, L) as those of the distinct labels (T, K)."""
        known = len(self.distinct)
        if known == len(self.states):
            return probabilities
        folded = probabilities[:, :known].copy()
        folded[:, 0] += probabilities[:, known:].sum(axis=1)
        return folded

    def emissions(self, documents: Sequence[Document]) -> NDArray[np.float64]:
        """The score of every state at every token, documents laid end to end: (T, L).

        The slow, plain way, which `tables` is tested against.
        """
        ids = self.index.transform(Batch.of(documents))
        scores = np.zeros((len(ids), len(self.states)))
        for m in range(ids.shape[1]):
            scores += self.weights[ids[:, m]]
        return scores

    def rounded(self) -> LinearChain:
        """The chain as a model folder keeps it: weights in steps, without the attributes that this leaves no weight.

        A weight is the square of a whole number up to 127, times its sign and a scale, so that small weights, which
        are most of them, lie close (docs/model-format.md states what this costs). To round again changes nothing.
        """
        steps, scale = _steps(self.weights)
        keep = np.asarray(steps.any(axis=1))
        weights = np.vstack([np.zeros(len(self.states)), _of_steps(steps[keep], scale)])
        return replace(self, index=self.index.select(keep), weights=weights)

    def on_grid(self) -> LinearChain:
        """The chain with weights and transitions as multiples of a power of two that makes sums exact in 32 bits.

        A step is about 10^-7 of the largest sum, far less than those between the weights of a model folder. `tables`
        needs half the memory for such a chain. To do this again changes nothing.
        """
        # What rounding can add to the largest sum must not make it too large.
        step = _step(1.001 * self._largest_sum())

        def rounded(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
            steps = np.empty_like(numbers)
            for rows in blocks(len(numbers)):
                np.multiply(numbers[rows], 1 / step, out=steps[rows])
                np.rint(steps[rows], out=steps[rows])
                steps[rows] *= step
            return steps

        chain = replace(self, weights=rounded(self.weights), transition=rounded(self.transition))
        object.__setattr__(chain, "_grid", step)
        return chain

    def leads(self) -> tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]:
        """By how much the weights of the other labels exceed the first one's (A + 1, L - 1); the bias (L,).

        The weights are in 32 bits for a chain on a grid, where every sum of them and of transitions is exact in those;
        so is the bias, if it is small and on that grid as well. Else they are in 64.
        """
        per_step = 1 / (self._grid or _step(self._largest_sum()))

        def is_exact(numbers: NDArray[np.float64]) -> bool:
            return all(_are_whole(numbers[rows] * per_step) for rows in blocks(len(numbers)))

        on_grid = bool(self._grid) or (is_exact(self.weights) and is_exact(self.transition))
        small_bias = on_grid and is_exact(self.bias) and np.abs(self.bias).max(initial=0) <= _MOST_BIAS
        leads = np.empty(self.weights[:, 1:].shape, dtype=np.float32 if on_grid else np.float64)
        for rows in blocks(len(leads)):
            block = self.weights[rows].astype(leads.dtype)
            np.subtract(block[:, 1:], block[:, :1], out=leads[rows])
        return leads, self.bias.astype(np.float32) if small_bias else self.bias

    def _largest_sum(self) -> float:
        """A bound of the sums of one weight a template, of small biases, and of what a search for the best path adds.

        That is three transitions, less the score of the best path to the first label; where a long run is cut
        (`decoding`), eight.
        """
        other = float(8 * np.abs(self.transition).max(initial=0) + 2 * _MOST_BIAS)
        first = self.index.first_ids()[[len(keys) > 0 for keys in self.index.keys]]
        if len(first) == 0:
            return other
        flat = self.weights.ravel()
        # All values of a template are one stretch; a row of zeros, which stands for no attribute, comes before them.
        highest, lowest = (edge.reduceat(flat, first * self.weights.shape[1]) for edge in (np.maximum, np.minimum))
        return other + float((np.maximum(highest, 0) - np.minimum(lowest, 0)).sum())

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The index and, per attribute, the labels that have a weight, with their weights; both `rounded`."""
        chain = self.rounded()
        return chain.index.to_arrays() | pack_weights(chain.weights) | chain.rest_to_arrays()

    def rest_to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """What is not about attributes."""
        return {
            "transition": self.transition,
            "bias": self.bias,
            "temperature": np.array(self.temperature),
        }

    @staticmethod
    def from_arrays(
        arrays: Mapping[str, NDArray[Any]],
        states: Sequence[str],
        templates: tuple[Template, ...],
        lexicons: Mapping[str, Mapping[str, str]],
    ) -> LinearChain:
        """The `rounded` chain from its arrays; ModelError where they do not fit together."""
        index = AttributeIndex.from_arrays(arrays, templates, lexicons)
        size = len(states)
        try:
            weights = unpack_weights(arrays, index.count, size)
            transition = arrays["transition"].astype(np.float64)
            bias = arrays["bias"].astype(np.float64)
            temperature = float(arrays.get("temperature", np.array(1.0)))
            if transition.shape != (size, size) or bias.shape != (size,):
                raise ValueError(f"transitions of shape {transition.shape}, bias of {bias.shape} for {size} states")
            if not 0 < temperature < np.inf:
                raise ValueError(f"a temperature of {temperature}, expected a number above 0")
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ModelError(f"its weights do not fit its attributes ({error}); train or fetch it again.") from error
        return LinearChain(tuple(states), index, weights, transition, bias, temperature)


def blocks(rows: int) -> Iterator[slice]:
    """All rows of a table of weights, so many at a time that they stay in the processor's cache between two steps."""
    return (slice(first, first + _BLOCK_ROWS) for first in range(0, rows, _BLOCK_ROWS))


_BLOCK_ROWS = 2048

_MOST_BIAS = 4.0  # the sums of larger ones are worked out in 64 bits
_EXACT_BITS = 24  # whole numbers of so many bits are exact in a float32


def _step(largest: float) -> float:
    """The least power of two of which `largest` is at most 2^24."""
    return 2.0 ** (math.frexp(largest)[1] - _EXACT_BITS)


def _are_whole(numbers: NDArray[np.floating[Any]]) -> bool:
    return np.array_equal(numbers, np.rint(numbers))


def pack_weights(weights: NDArray[np.float64], of: str = "") -> dict[str, NDArray[np.generic]]:
    """Weights (A + 1, L), `rounded`, as arrays: per attribute the labels that have one, and those. of: before names."""
    steps, scale = _steps(weights)
    rows, columns = np.nonzero(steps[1:])
    return {
        f"{of}weight_count": np.bincount(rows, minlength=len(steps) - 1).astype(np.uint8),
        f"{of}weight_label": columns.astype(np.uint8),
        f"{of}weight": steps[1:][rows, columns],
        f"{of}weight_scale": np.array(scale),
    }


def unpack_weights(arrays: Mapping[str, NDArray[Any]], count: int, labels: int, of: str = "") -> NDArray[np.float64]:
    """The inverse: (count + 1, labels); KeyError, ValueError, TypeError or IndexError where the arrays do not fit."""
    weights = np.zeros((count + 1, labels))
    label, steps, scale = arrays[f"{of}weight_label"], arrays[f"{of}weight"], float(arrays[f"{of}weight_scale"])
    counts = arrays[f"{of}weight_count"]
    if label.max(initial=0) >= labels:
        raise ValueError(f"a weight of label {label.max()}, expected less than {labels}")
    if len(counts) != count or not counts.sum() == len(label) == len(steps):
        raise ValueError(f"{len(steps)} weights of {len(counts)} attributes, expected {counts.sum()} of {count}")
    value_of = _of_steps(np.arange(256).astype(np.int8), scale)  # steps below 0 count from its end
    end = 0
    for rows in blocks(count):
        table = weights[1:][rows]
        places = np.repeat(np.arange(0, table.size, labels), counts[rows])
        start, end = end, end + len(places)
        places += label[start:end]
        table.ravel()[places] = value_of[steps[start:end]]
    return weights


def round_weights(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights as `pack_weights` keeps them."""
    return _of_steps(*_steps(weights))


_LEAST_WEIGHT = 1e-30  # a chain whose weights are all smaller has none; far smaller ones have no scale of 24 bits
_MOST_STEPS = 127  # of an int8, on either side of 0


def _steps(weights: NDArray[np.float64]) -> tuple[NDArray[np.int8], float]:
    """The nearest whole numbers to the roots of the weights, with the weights' signs; the scale of their squares."""
    size = np.abs(weights)
    # A scale of 24 bits times the square of a byte is exact, so that what was rounded is read back bit by bit.
    largest = size.max(initial=0.0)
    scale = float(np.float32(largest / _MOST_STEPS**2)) if largest > _LEAST_WEIGHT else 0.0
    steps = np.rint(np.sqrt(size / scale)) if scale else size * 0
    return (np.sign(weights) * steps).astype(np.int8), scale


def _of_steps(steps: NDArray[np.int8], scale: float) -> NDArray[np.float64]:
    wide = steps.astype(np.float64)
    weights: NDArray[np.float64] = scale * wide * np.abs(wide)
    return weights
