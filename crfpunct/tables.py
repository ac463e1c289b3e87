"""A trained CRF compiled for tagging: documents -> emissions, about a million words a second on one core.

Equal to `LinearChain.emissions`, the plain way, up to the rounding of sums in another order, and less the score of the
first label, which changes neither best paths nor probabilities. What makes it fast:

1. *Rows per word type.* All templates that look at one word only are summed once per word type and offset into a
   row of L - 1 weights; a token then costs one gather per offset. Word types get their row when they first turn up,
   those that training never saw from prefix, suffix and shape (`_TypeRows`); types are numbered in bounded memory
   (`word_types`).
2. *Product tables.* Templates whose values have few combinations (pauses, kinds of words) are summed into tables over
   the product of the values, several templates in one table, so that they cost one gather per table. Templates that
   join one word with such observations are summed into tables over word classes and values: a class is what
   the templates tell apart of a word (`_Crossing`).
3. *A trie of conjunctions.* All other templates are paths of observations at relative offsets; templates with the
   same path at different offsets share it, and a longer path starts from the numbers that its first part was given.
   A step is two gathers from a packed sparse table, which cannot collide (`lookups.Pairs`); later steps, and
   sums, are taken only where the path so far is one that the model knows.
4. *Half the memory* that 64 bits take, wherever 32 are exact (`LinearChain.on_grid`): most time is spent in waiting for
   rows of tables.
5. *Large blocks*, so that what is used of a table comes into the processor's cache once for many words; and padding
   between documents instead of tests for their edges.

Positions: documents are laid end to end with `reach` edge tokens before, between and behind them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfpunct import decoding
from crfpunct.attributes import split_keys
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.lookups import Lookup, Pairs
from crfpunct.numbering import numbering
from crfpunct.observations import EDGE, FIRST_VALUE, LISTED, MARK, UNSEEN, Observation, Pauses, mark_numbers
from crfpunct.templates import Template
from crfpunct.word_types import EDGE_TYPE, Numbered, Vocabulary, WordTypes

FloatArray = NDArray[np.float64]
Weights = NDArray[np.floating[Any]]  # (…, L - 1), of the rivals of the first label, less its own; all of one precision
IntArray = NDArray[np.int64]

BLOCK_POSITIONS = 1 << 16
#: An observation with at most so many values may be crossed with words.
_FEW_VALUES = 32
#: One with at most so many values may be part of a product table. A template may have one of so many rows to itself;
#: several may share one of so many.
_PRODUCT_VALUES = 70
_PRODUCT_ROWS = 1 << 16
_SHARED_ROWS = 1 << 14
#: Word types that have room for their rows from the start. It takes memory only as it is filled.
_ROOM = 1 << 18
#: Rows are added to all places at once where at least this share of them has one; else place by place.
_DENSE_SHARE = 0.3

Place = tuple[Observation, int]  # an observation at an offset


class Tables:
    """A chain compiled for tagging. Safe to share between threads.

    vocabulary: numbers the words; chains that share one can be given texts that are numbered already.
    """

    def __init__(self, chain: LinearChain, vocabulary: Vocabulary | None = None) -> None:
        self.chain = chain
        self.vocabulary = vocabulary or Vocabulary()
        self.labels = len(chain.states)
        self._has_twins = len(chain.distinct) < self.labels  # several states of one label
        self._margin = decoding.dominance(chain.transition) + (chain.bias[1:] - chain.bias[0])
        templates = chain.index.templates
        offsets = [offset for template in templates for _, offset in template.use]
        self.reach = max(map(abs, offsets), default=0)
        self.sizes = {
            o: FIRST_VALUE + len(o.pause_values() if o.by_token else chain.index.values[o])
            for template in templates
            for o, _ in template.use
        }
        weights_of, self._bias = chain.leads()
        self._no_weights = weights_of[:0]
        self._products: list[_Product] = []
        self._crossings: list[_Crossing] = []
        self._trie: dict[Observation, _Node] = {}
        one_word: list[tuple[Template, list[IntArray], Weights]] = []
        products: list[tuple[Template, list[IntArray], Weights]] = []
        for template, keys, first in zip(templates, chain.index.keys, chain.index.first_ids(), strict=True):
            if len(keys) == 0:
                continue
            parts = split_keys(keys, chain.index.radices(template))
            weights = weights_of[first : first + len(keys)]
            few = [i for i, (o, _) in enumerate(template.use) if self._is_small(o)]
            many_at = sorted({template.use[i][1] for i in range(len(parts)) if i not in few})
            if len({offset for _, offset in template.use}) == 1 and not any(o.by_token for o, _ in template.use):
                one_word.append((template, parts, weights))
            elif self._has_product(template):
                products.append((template, parts, weights))
            elif len(many_at) == 1 and self._rows(template.use[i] for i in few) <= _FEW_VALUES:
                self._add_to_crossing(template, parts, weights, many_at[0], frozenset(template.use[i] for i in few))
            else:
                self._add_to_trie(template, parts, weights)
        # The largest first: what looks at a part of its places adds to its table.
        for template, parts, weights in sorted(products, key=lambda entry: -self._rows(entry[0].use)):
            self._add_to_product(template, parts, weights)
        self._nodes = [node for root in self._trie.values() for node in root.children.values()]
        # What tagging looks at token by token has a column: first what depends on the token's place, then on its word.
        self._by_token = [o for o in self.sizes if o.by_token]
        per_type = self._per_type()
        column_of = {o: column for column, o in enumerate([*self._by_token, *per_type])}
        for product in self._products:
            product.columns = [(column_of[o], offset) for o, offset in product.places]
        for crossing in self._crossings:
            crossing.columns = [(column_of[o], offset) for o, offset in crossing.places]
        for node in self._nodes:
            for step in node.walk():
                step.compile(column_of)
        self._words = _Words(chain, one_word, per_type, self._crossings, self._no_weights)
        self._cache: _TypeRows | None = None
        self._lock = threading.Lock()

    # ---- compiling

    def _is_small(self, observation: Observation) -> bool:
        return observation.by_token or self.sizes[observation] <= _FEW_VALUES

    def _has_product(self, template: Template) -> bool:
        few = all(o.by_token or self.sizes[o] <= _PRODUCT_VALUES for o, _ in template.use)
        return few and self._rows(template.use) <= _PRODUCT_ROWS

    def _rows(self, places: Iterable[Place]) -> int:
        return math.prod(self.sizes[o] for o, _ in places)

    def _add_to_product(self, template: Template, parts: list[IntArray], weights: Weights) -> None:
        """Into the first table that has its places or stays small enough with them, else into a new one."""
        for product in self._products:
            if product.rows_with(template, self.sizes) <= max(_SHARED_ROWS, len(product.table)):
                break
        else:
            product = _Product(self._no_weights)
            self._products.append(product)
        product.add(template, parts, weights, self.sizes)

    def _add_to_crossing(
        self, template: Template, parts: list[IntArray], weights: Weights, offset: int, places: frozenset[Place]
    ) -> None:
        """Into the first crossing of the same places that has room for its keys, else into a new one."""
        for crossing in self._crossings:
            if crossing.offset == offset and places == set(crossing.places) and crossing.has_room(len(weights)):
                break
        else:
            crossing = _Crossing(offset, places, self.sizes, self._no_weights)
            self._crossings.append(crossing)
        crossing.add(template, parts, weights)

    def _add_to_trie(self, template: Template, parts: list[IntArray], weights: Weights) -> None:
        """Words with many values first, by offset, because they rule most places out; then the others."""
        order = sorted(range(len(parts)), key=lambda i: (self._is_small(template.use[i][0]), template.use[i][1], i))
        (first, base), *rest = [template.use[i] for i in order]
        node = self._trie.setdefault(first, _Node(first, 0, self.sizes[first]))
        numbers = parts[order[0]]
        for (observation, offset), i in zip(rest, order[1:], strict=True):
            place = (observation, offset - base)
            node = node.children.setdefault(place, _Node(*place, self.sizes[observation], parent=node))
            numbers = node.number(numbers, parts[i])
        node.uses.append((base, numbers, weights))

    def _per_type(self) -> list[Observation]:
        """Word observations whose numbers are needed token by token."""
        in_products = [o for product in self._products for o, _ in product.places]
        in_crossings = [o for crossing in self._crossings for o, _ in crossing.places]
        in_trie = [node.observation for root in self._trie.values() for node in root.walk()]
        for_distances = [o.listed for o in self.sizes if o.is_distance]
        return [o for o in dict.fromkeys(in_products + in_crossings + in_trie + for_distances) if not o.by_token]

    # ---- tagging

    def decode(self, documents: Sequence[Document], numbered: Numbered | None = None) -> list[list[str]]:
        """The best label of every token of every document; `numbered` are their words, if they are numbered already."""
        best, starts, lengths = self.best(documents, numbered)
        names = np.array(self.chain.labels, dtype=object)[best].tolist()
        return [names[start : start + length] for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)]

    def best(
        self, documents: Sequence[Document], numbered: Numbered | None = None
    ) -> tuple[IntArray, IntArray, IntArray]:
        """The number of the best state at every position (P,), and the documents' starts and lengths (D,) in it."""
        layout = self._lay_out(documents, numbered)
        open_places, open_scores = [], []
        for low, leads in self._blocks(layout):
            is_word = layout.types[low : low + len(leads)] != EDGE_TYPE
            places = (self._contested(leads) & is_word).nonzero()[0]
            scores = np.zeros((len(places), self.labels), dtype=self._bias.dtype)
            scores[:, 1:] = leads.take(places, axis=0)
            scores += self._bias
            open_scores.append(scores)
            open_places.append(places + low)
        best = decoding.viterbi_at(
            np.concatenate(open_places),
            np.concatenate(open_scores),
            self.chain.transition,
            len(layout.types),
            layout.starts,
            layout.lengths,
        )
        return best, layout.starts, layout.lengths

    def _contested(self, leads: Weights) -> NDArray[np.bool_]:
        if self._has_twins:  # no state of the neutral label wins by that much
            return np.ones(len(leads), dtype=bool)
        return decoding.contested(leads, self._margin)

    def emissions(
        self, documents: Sequence[Document], numbered: Numbered | None = None
    ) -> tuple[FloatArray, IntArray, IntArray]:
        """The score of every state, less that of the first one, at every position (P, L); and starts and lengths (D,).

        These say where the documents are in it.
        """
        layout = self._lay_out(documents, numbered)
        result = np.zeros((len(layout.types), self.labels))
        for low, leads in self._blocks(layout):
            result[low : low + len(leads), 1:] = leads
        return result, layout.starts, layout.lengths

    def marginals(self, documents: Sequence[Document], numbered: Numbered | None = None) -> list[FloatArray]:
        """Per document the probability of every distinct label at every token (T, K), at the chain's temperature."""
        emission, starts, lengths = self.emissions(documents, numbered)
        emission, transition = emission / self.chain.temperature, self.chain.transition / self.chain.temperature
        found = self.chain.by_label(decoding.marginals(emission, transition, lengths, starts))
        return [found[start : start + length] for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)]

    def _lay_out(self, documents: Sequence[Document], numbered: Numbered | None) -> _Layout:
        if numbered is None:
            numbered = self.vocabulary.number(documents)
        lengths = numbered.lengths
        reach = max(self.reach, 1)
        padding = reach * np.arange(1, len(lengths) + 1)
        starts = np.cumsum(lengths) - lengths + padding
        size = len(numbered.types) + reach * (len(lengths) + 1)
        places = np.arange(len(numbered.types)) + np.repeat(padding, lengths)
        with self._lock:
            cache, self._cache = self._cache, None  # put back at the end: after a Ctrl-C in between it is half filled
            if cache is None or cache.types is not numbered.of:
                cache = _TypeRows(self._words, numbered.of)
            rows = cache.rows()
            self._cache = cache
        types = np.full(size, EDGE_TYPE, dtype=np.int32)
        types[places] = numbered.types
        columns = []
        for values_of_tokens in self._by_place(documents, numbered, rows):
            values = np.full(size, EDGE, dtype=np.int16)
            values[places] = values_of_tokens
            columns.append(values)
        return _Layout(types, starts, lengths, rows, columns, reach)

    def _by_place(
        self, documents: Sequence[Document], numbered: Numbered, rows: _Rows
    ) -> Iterator[NDArray[np.integer]]:
        """The value numbers of each observation that depends on a token's place: (N,)."""
        lengths = numbered.lengths
        pauses = None
        for observation in self._by_token:
            if observation.name == MARK:
                yield FIRST_VALUE + mark_numbers((document.marks for document in documents), lengths.tolist())
                continue
            if pauses is None:
                pauses = Pauses(_times(documents, lengths), rows.characters.take(numbered.types), lengths)
            listed = None
            if observation.is_distance:
                column = self._words.per_type.index(observation.listed)
                listed = rows.numbers[:, column].take(numbered.types) != UNSEEN
            yield observation.of_pauses(pauses, listed)

    def _blocks(self, layout: _Layout) -> Iterator[tuple[int, Weights]]:
        """Emissions less the first label's, block by block: the position of the first row, and (positions, L - 1)."""
        end = len(layout.types) - layout.reach
        if end <= layout.reach:
            yield layout.reach, self._no_weights
        for low in range(layout.reach, end, BLOCK_POSITIONS):
            block = _Block(layout, low, min(low + BLOCK_POSITIONS, end), self._no_weights)
            for offset, rows in layout.rows.scores.items():
                block.add(rows, block.types(offset))
            for product in self._products:
                block.add(product.table, product.key(block))
            for number, crossing in enumerate(self._crossings):
                block.add(layout.rows.crossed[number], crossing.row(block, number))
            for node in self._nodes:
                node.add_scores(block)
            yield low, block.scores


def _times(documents: Sequence[Document], lengths: IntArray) -> IntArray:
    unknown = [
        np.full((length, 2), -1, dtype=np.int64) if document.times_ms is None else document.times_ms
        for document, length in zip(documents, lengths.tolist(), strict=True)
    ]
    return np.concatenate(unknown) if unknown else np.zeros((0, 2), dtype=np.int64)


@dataclass(slots=True)
class _Layout:
    """A batch of documents with padding, by position: types of words, columns of what depends on the token's place.

    rows: what each word type contributes.
    """

    types: NDArray[np.int32]
    starts: IntArray
    lengths: IntArray
    rows: _Rows
    columns: list[NDArray[np.int16]]
    reach: int


class _Block:
    """The positions low … high - 1 of a layout while their scores (high - low, L - 1) are summed up.

    A stretch of the block is given by how far its first and last place are from the block's own.
    """

    def __init__(self, layout: _Layout, low: int, high: int, no_weights: Weights) -> None:
        self.rows = layout.rows
        self._reach = layout.reach
        # A path that begins in reach of the block may belong to a place beyond its ends: there is room for its score.
        self._room = 2 * layout.reach
        self._scores = _zeros(high - low + 2 * self._room, no_weights)
        self.scores = self._scores[self._room : len(self._scores) - self._room]
        self._all = slice(low - layout.reach, high + layout.reach)
        self._end = high - low + layout.reach
        # Index arrays of another type would be converted at every gather.
        self._types = layout.types[self._all].astype(np.intp)
        # All numbers of a word by one gather, then side by side.
        by_word = np.ascontiguousarray(layout.rows.numbers.take(self._types, axis=0).T)
        self._values: list[NDArray[np.int32]] = [
            *(column[self._all].astype(np.int32) for column in layout.columns),
            *by_word,
        ]
        self._addend = np.empty_like(self.scores)

    def types(self, offset: int) -> IntArray:
        """The word types so many places behind those of the block."""
        return self._types[self._reach + offset : self._end + offset]

    def values(self, column: int, first: int, last: int) -> NDArray[np.int32]:
        """The value numbers of a column at the places of a stretch."""
        return self._values[column][self._reach + first : self._end + last]

    def add(self, table: Weights, rows: NDArray[np.integer]) -> None:
        """Add a row of a table to the scores of each place."""
        # The rows are known to be in the table; numpy would check them into a copy.
        table.take(rows, axis=0, out=self._addend, mode="clip")
        self.scores += self._addend

    def values_at(self, column: int, places: IntArray) -> NDArray[np.int32]:
        """The value numbers of a column at some places; without meaning where a place is beyond the block's reach."""
        values: NDArray[np.int32] = self._values[column].take(places + self._reach, mode="clip")
        return values

    def add_at(self, table: Weights, rows: NDArray[np.integer], places: IntArray) -> None:
        """Add rows of a table to the scores of some places, each named once."""
        places = places + self._room
        scores = self._scores.take(places, axis=0)
        scores += table.take(rows, axis=0)
        self._scores[places] = scores


# ---------------------------------------------------------------- 1. rows per word type


def _zeros(rows: int, like: Weights) -> Weights:
    return np.zeros((rows, like.shape[1]), dtype=like.dtype)


@dataclass(slots=True)
class _Rows:
    """What the word types contribute, by type number (capacity, …); row 0 is the edge of a document.

    scores: per offset, the summed weights. classes: per crossing the word's class. numbers (capacity, columns): the
    value number in each column of word observations. characters: length of the normal form. crossed: per crossing, the
    weights of its classes, so many rows for each.
    """

    scores: dict[int, Weights]
    classes: list[NDArray[np.int32]]
    numbers: NDArray[np.int32]
    characters: NDArray[np.int32]
    crossed: list[Weights]

    def by_type(self) -> Iterator[NDArray[np.generic]]:
        """All arrays that have a row per type."""
        yield from self.scores.values()
        yield from self.classes
        yield self.numbers
        yield self.characters


class _Words:
    """All that depends on one word alone, and how to work it out for new word types."""

    def __init__(
        self,
        chain: LinearChain,
        one_word: Sequence[tuple[Template, list[IntArray], Weights]],
        per_type: Sequence[Observation],
        crossings: Sequence[_Crossing],
        no_weights: Weights,
    ) -> None:
        self.no_weights = no_weights
        self.crossings = crossings
        self.per_type = per_type
        used = [o for template, _, _ in one_word for o, _ in template.use]
        crossed = [o for crossing in crossings for o in crossing.observations()]
        self.observations = list(dict.fromkeys([*used, *crossed, *per_type]))
        values = {**chain.index.values, **{o: ("yes",) for o in per_type if o.name == LISTED}}
        self.sizes = {o: FIRST_VALUE + len(values[o]) for o in self.observations}
        self.numberings = {o: numbering(o, values[o], chain.index.lexicons) for o in self.observations}
        # Per offset: (observations, table of weights by value number) or, for several observations, a lookup of keys.
        self.by_offset: dict[int, list[tuple[tuple[Observation, ...], Lookup | None, Weights]]] = {}
        for template, parts, weights in one_word:
            observations = tuple(o for o, _ in template.use)
            entries = self.by_offset.setdefault(template.use[0][1], [])
            if len(observations) == 1:
                table = _zeros(FIRST_VALUE + len(chain.index.values[observations[0]]), no_weights)
                table[parts[0]] = weights
                entries.append((observations, None, table))
            else:
                lookup = Lookup.of(self._mixed(parts, observations))
                entries.append((observations, lookup, np.vstack([_zeros(1, no_weights), weights])))

    def empty(self, capacity: int) -> _Rows:
        return _Rows(
            {offset: _zeros(capacity, self.no_weights) for offset in self.by_offset},
            [np.zeros(capacity, dtype=np.int32) for _ in self.crossings],
            np.zeros((capacity, len(self.per_type)), dtype=np.int32),
            np.zeros(capacity, dtype=np.int32),
            [_zeros(0, self.no_weights) for _ in self.crossings],
        )

    def fill(self, rows: _Rows, span: slice, numbers: Mapping[Observation, NDArray[np.int32]]) -> None:
        """Work out the types of a span from their value numbers."""
        addend = _zeros(span.stop - span.start, self.no_weights)
        for offset, entries in self.by_offset.items():
            scores = rows.scores[offset][span]
            for observations, lookup, table in entries:
                found: NDArray[np.integer] = numbers[observations[0]]
                if lookup is not None:
                    found = lookup.find(self._mixed([numbers[o] for o in observations], observations))
                table.take(found, axis=0, out=addend, mode="clip")
                scores += addend
        for column, o in enumerate(self.per_type):
            rows.numbers[span, column] = numbers[o]

    def _mixed(self, parts: Sequence[NDArray[np.integer]], observations: Sequence[Observation]) -> IntArray:
        """One key for each row of parts; of no attribute where a part is UNSEEN, which is in none."""
        key = np.zeros(len(parts[0]), dtype=np.int64)
        for part, observation in zip(parts, observations, strict=True):
            key = key * self.sizes[observation] + part
        return key


class _TypeRows:
    """The rows of word types, worked out when `rows` is first called after they were numbered."""

    def __init__(self, words: _Words, types: WordTypes) -> None:
        self.types = types
        self._words = words
        self._filled = 1
        self._rows = words.empty(_ROOM)
        # Per crossing: the numbers of a word that its templates look at, mixed into one key -> class.
        self._classes: list[dict[int, int]] = [{} for _ in words.crossings]
        edge = dict.fromkeys(words.observations, np.full(1, EDGE, dtype=np.int32))
        self._fill(slice(0, 1), edge)

    def rows(self) -> _Rows:
        """The rows of all types numbered so far. What was returned earlier stays valid for its types."""
        while self._filled < len(self.types):
            forms = self.types.forms(self._filled)
            needed = self._filled + len(forms.words)
            if needed > len(self._rows.characters):
                self._rows = self._grown(max(needed, 2 * len(self._rows.characters)))
            span = slice(self._filled, needed)
            self._rows.characters[span] = forms.lengths
            self._fill(span, {o: numbering.of(forms) for o, numbering in self._words.numberings.items()})
            self._filled = needed
        return self._rows

    def _fill(self, span: slice, numbers: Mapping[Observation, NDArray[np.int32]]) -> None:
        self._words.fill(self._rows, span, numbers)
        for i, (crossing, known) in enumerate(zip(self._words.crossings, self._classes, strict=True)):
            keys, inverse = np.unique(crossing.keys(numbers), return_inverse=True)
            before = len(known)
            classes = [known.setdefault(key, len(known)) for key in keys.tolist()]
            self._rows.classes[i][span] = np.array(classes, dtype=np.int32).take(inverse)
            if len(known) > before:
                fresh = keys[np.array(classes) >= before]
                table = self._rows.crossed[i]
                begin, end = before * crossing.rows, len(known) * crossing.rows
                if end > len(table):
                    # Doubled, so that growing costs little per class; rows given out before stay valid.
                    grown = _zeros(max(2 * len(table), end), table)
                    grown[:begin] = table[:begin]
                    self._rows.crossed[i] = table = grown
                table[begin:end] = crossing.weights_of(fresh)

    def _grown(self, capacity: int) -> _Rows:
        rows, old = self._words.empty(capacity), self._rows
        for new_array, old_array in zip(rows.by_type(), old.by_type(), strict=True):
            new_array[: self._filled] = old_array[: self._filled]
        rows.crossed = old.crossed
        return rows


# ---------------------------------------------------------------- 2. product tables


class _Product:
    """Templates over a few small observations, summed into one table over the product of their values."""

    def __init__(self, no_weights: Weights) -> None:
        self.places: list[Place] = []
        self.columns: list[tuple[int, int]] = []  # the places' columns and offsets, once all are in
        self.table = _zeros(1, no_weights)  # reshaped to one axis per place while it grows
        self.shape: list[int] = []

    def rows_with(self, template: Template, sizes: Mapping[Observation, int]) -> int:
        return math.prod(sizes[o] for o, _ in dict.fromkeys([*self.places, *template.use]))

    def add(
        self, template: Template, parts: list[IntArray], weights: Weights, sizes: Mapping[Observation, int]
    ) -> None:
        for place in template.use:
            if place not in self.places:
                size = sizes[place[0]]
                self.places.append(place)
                self.shape.append(size)
                self.table = np.repeat(self.table, size, axis=0)
        grid = self.table.reshape(*self.shape, self.table.shape[1])
        index: list[IntArray | slice] = [slice(None)] * len(self.places)
        # One axis per place: those of the template are indexed by its attributes, the others take all values.
        axes = [self.places.index(place) for place in template.use]
        moved = np.moveaxis(grid, axes, range(len(axes)))
        index = list(parts)
        extra = moved.ndim - len(axes) - 1
        moved[tuple(index)] += weights.reshape(len(weights), *([1] * extra), weights.shape[1])

    def key(self, block: _Block) -> NDArray[np.int32]:
        """The row of the table for each place of the block."""
        return _product_key(block, self.columns, self.shape)


def _product_key(block: _Block, columns: Sequence[tuple[int, int]], shape: Sequence[int]) -> NDArray[np.int32]:
    (column, offset), *others = columns
    key = block.values(column, offset, offset)
    for (column, offset), size in zip(others, shape[1:], strict=True):
        key = key * np.int32(size)
        key += block.values(column, offset, offset)
    return key


class _Crossing:
    """Templates that join one word, at one offset, with the same few small observations.

    For each template the word has a number, 0 if it occurs in none of its attributes; all its numbers mixed into
    one key are its class. Most words have no number of their own, only that of a suffix, so classes are few.
    """

    def __init__(
        self, offset: int, places: frozenset[Place], sizes: Mapping[Observation, int], no_weights: Weights
    ) -> None:
        self.offset = offset
        self.places = sorted(places, key=str)
        self.columns: list[tuple[int, int]] = []  # as in `_Product`
        self.shape = [sizes[o] for o, _ in self.places]
        self.rows = math.prod(self.shape)
        self._sizes = sizes
        self._no_weights = no_weights
        # (word observations, lookup of their mixed values, weights by number, (numbers, rows, …))
        self._entries: list[tuple[list[Observation], Lookup, Weights]] = []

    def add(self, template: Template, parts: list[IntArray], weights: Weights) -> None:
        word = [i for i, place in enumerate(template.use) if place not in self.places]
        observations = [template.use[i][0] for i in word]
        keys = self._mix([parts[i] for i in word], observations)
        distinct, numbers = np.unique(keys, return_inverse=True)
        row = np.zeros(len(keys), dtype=np.int64)
        for place, size in zip(self.places, self.shape, strict=True):
            row = row * size + parts[template.use.index(place)]
        table = np.zeros((len(distinct) + 1, self.rows, weights.shape[1]), dtype=weights.dtype)
        table[numbers + 1, row] = weights
        self._entries.append((observations, Lookup.of(distinct), table))

    def has_room(self, attributes: int) -> bool:
        """Whether classes still fit into 64 bits with one more template of so many attributes."""
        return math.prod(len(table) for _, _, table in self._entries) * (attributes + 1) < 2**62

    def observations(self) -> list[Observation]:
        return [o for observations, _, _ in self._entries for o in observations]

    def _mix(self, parts: Sequence[NDArray[np.integer]], observations: Sequence[Observation]) -> IntArray:
        key = np.zeros(len(parts[0]), dtype=np.int64)
        for part, observation in zip(parts, observations, strict=True):
            key = key * self._sizes[observation] + part
        return key

    def keys(self, numbers: Mapping[Observation, NDArray[np.int32]]) -> IntArray:
        """The class key of words from their value numbers."""
        key: IntArray = np.zeros(1, dtype=np.int64)
        for observations, lookup, table in self._entries:
            key = key * len(table) + lookup.find(self._mix([numbers[o] for o in observations], observations))
        return key

    def weights_of(self, keys: IntArray) -> Weights:
        """The summed weights of classes, so many rows for each."""
        total = _zeros(len(keys) * self.rows, self._no_weights)
        for _, _, table in reversed(self._entries):
            keys, numbers = np.divmod(keys, len(table))
            total += table.take(numbers, axis=0).reshape(total.shape)
        return total

    def row(self, block: _Block, number: int) -> NDArray[np.int32]:
        """The row of the classes' weights for each place of the block; number: of this crossing."""
        row = block.rows.classes[number].take(block.types(self.offset))
        row *= np.int32(self.rows)
        row += _product_key(block, self.columns, self.shape)
        return row


# ---------------------------------------------------------------- 3. conjunctions


@dataclass(slots=True)
class _Node:
    """A step of the trie: an observation at an offset from the path's first word.

    number() is called while compiling: it numbers the pairs (number of the path so far, value) from 1 on. uses:
    templates that end here, as (offset of the first word from the mark's place, number of each attribute, weights).
    """

    observation: Observation
    offset: int
    size: int
    parent: _Node | None = None
    children: dict[Place, _Node] = field(default_factory=dict)
    uses: list[tuple[int, IntArray, Weights]] = field(default_factory=list)
    keys: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    column: int = 0
    path_column: int = 0  # of the first word, for a path of two
    pairs: Pairs | None = None
    tables: list[tuple[int, Weights]] = field(default_factory=list)
    nearest: int = 0  # the least and the greatest offset of a path's first word from its mark's place
    furthest: int = 0

    def walk(self) -> Iterator[_Node]:
        yield self
        for child in self.children.values():
            yield from child.walk()

    def number(self, path_numbers: IntArray, values: IntArray) -> IntArray:
        # Numbers given out before stay: keys keep their places, new ones follow.
        known = len(self.keys)
        pairs = np.concatenate([self.keys, path_numbers * self.size + values])
        distinct, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
        fresh = first >= known
        self.keys = np.concatenate([self.keys, distinct[fresh]])
        numbers = np.where(fresh, known + np.cumsum(fresh), first + 1)
        return numbers[inverse[known:]]

    def compile(self, column_of: Mapping[Observation, int]) -> None:
        """Make the tables, once all templates are in."""
        assert self.parent is not None
        self.column, self.path_column = column_of[self.observation], column_of[self.parent.observation]
        paths = len(self.parent.keys) + 1 if self.parent.parent else self.parent.size
        self.pairs = Pairs(*np.divmod(self.keys, self.size), (paths, self.size))
        by_base: dict[int, Weights] = {}
        for base, numbers, weights in self.uses:
            table = by_base.setdefault(base, _zeros(len(self.keys) + 1, weights))
            table[numbers] += weights
        self.tables = list(by_base.items())
        bases = [base for node in self.walk() for base, _, _ in node.uses]
        self.nearest, self.furthest = min(bases), max(bases)

    def add_scores(self, block: _Block) -> None:
        """Add what this path and its continuations give to the places of the block."""
        self._add_everywhere(block, block.values(self.path_column, self.nearest, self.furthest))

    def _add_everywhere(self, block: _Block, path: NDArray[np.int32]) -> None:
        """path: the path's number so far, where its first word is at the places nearest … furthest."""
        assert self.pairs is not None
        first, last = self.nearest, self.furthest
        known, found = self.pairs.find(path, block.values(self.column, first + self.offset, last + self.offset))
        if len(known) <= _DENSE_SHARE * len(path):
            if len(known):
                self._add_at(block, known + first, found)
            return
        numbers = np.zeros(len(path), dtype=np.int32)
        numbers[known] = found
        for base, table in self.tables:
            block.add(table, numbers[base - first : len(numbers) + base - last])
        for child in self.children.values():
            child._add_everywhere(block, numbers[child.nearest - first : len(numbers) + child.furthest - last])

    def _add_at(self, block: _Block, places: IntArray, numbers: NDArray[np.integer]) -> None:
        """places: where the path's first word is, counted from the block's start; numbers: the path's, none is 0."""
        for base, table in self.tables:
            block.add_at(table, numbers, places - base)
        for child in self.children.values():
            assert child.pairs is not None
            # What is beyond reach belongs to paths of places beyond the block.
            known, found = child.pairs.find(numbers, block.values_at(child.column, places + child.offset))
            if len(known):
                child._add_at(block, places.take(known), found)
