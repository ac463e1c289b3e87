"""A trained CRF compiled for tagging: documents -> emissions, about a million words a second on one core.

Equal to `LinearChain.emissions`, the plain way, up to the rounding of sums in another order. What makes it fast:

1. *Rows per word type.* All templates that look at one word only are summed once per word type and offset into a
   row of L weights; a token then costs one gather per offset. Word types that training never saw get their row when
   they first turn up, from prefix, suffix and shape, and are kept in a bounded cache (`_Types`).
2. *Product tables.* Templates whose observations have few values (pauses, kinds of words) are summed into tables over
   the product of the values, several templates in one table, so that they cost one gather per table. Templates that
   join one word with such observations are summed into tables over word classes and values: a class is what
   the templates tell apart of a word (`_Crossing`).
3. *A trie of conjunctions.* All other templates are paths of observations at relative offsets; templates with the
   same path at different offsets share it, and a longer path starts from the numbers that its first part was given.
   A step is three gathers from a packed sparse table, which cannot collide (`_Packed`).
4. *Blocks* that fit into the processor's cache, and padding between documents instead of tests for their edges.

Positions: documents are laid end to end with `reach` edge tokens before, between and behind them.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain as concatenated
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crfpunct import decoding
from crfpunct.attributes import split_keys
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.observations import (
    EDGE,
    FIRST_VALUE,
    LONGEST,
    MARK,
    OF_LENGTH,
    UNSEEN,
    Observation,
    Pauses,
    mark_numbers,
    normals,
)
from crfpunct.templates import Template

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

BLOCK_POSITIONS = 8192
#: Word types kept before the cache starts afresh; one takes about 500 bytes. A million words of Polish have 126,000.
CACHED_TYPES = 1 << 17
#: An observation with at most so many values may be part of a product table, of at most so many rows.
_FEW_VALUES = 32
_PRODUCT_ROWS = 1 << 14
#: A lookup over at most so many pairs is an array; a larger one is hashed.
_DENSE_PAIRS = 1 << 17

#: Of packed rows: those of at least so many entries are placed one by one; after so many tries a slot, room is made.
_LONG_ROW = 16
_TRIES = 8
_EDGE_TYPE = 0  # the word type of the padding

Place = tuple[Observation, int]  # an observation at an offset


class Tables:
    """A chain compiled for tagging. Safe to share between threads."""

    def __init__(self, chain: LinearChain) -> None:
        self.chain = chain
        self.labels = len(chain.labels)
        self._margin = decoding.dominance(chain.transition) + (chain.bias[1:] - chain.bias[0])
        templates = chain.index.templates
        offsets = [offset for template in templates for _, offset in template.use]
        self.reach = max(map(abs, offsets), default=0)
        self.sizes = {
            o: FIRST_VALUE + len(o.pause_values() if o.by_token else chain.index.values[o])
            for template in templates
            for o, _ in template.use
        }
        self._products: list[_Product] = []
        self._crossings: list[_Crossing] = []
        self._trie: dict[Observation, _Node] = {}
        one_word: list[tuple[Template, list[IntArray], FloatArray]] = []
        for template, keys, first in zip(templates, chain.index.keys, chain.index.first_ids(), strict=True):
            if len(keys) == 0:
                continue
            parts = split_keys(keys, chain.index.radices(template))
            weights = chain.weights[first : first + len(keys)]
            few = [i for i, (o, _) in enumerate(template.use) if self._is_small(o)]
            many_at = sorted({template.use[i][1] for i in range(len(parts)) if i not in few})
            if len({offset for _, offset in template.use}) == 1 and not any(o.by_token for o, _ in template.use):
                one_word.append((template, parts, weights))
            elif not many_at and self._rows(template.use) <= _PRODUCT_ROWS:
                self._add_to_product(template, parts, weights)
            elif len(many_at) == 1 and self._rows(template.use[i] for i in few) <= _FEW_VALUES:
                self._add_to_crossing(template, parts, weights, many_at[0], frozenset(template.use[i] for i in few))
            else:
                self._add_to_trie(template, parts, weights)
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
        self._words = _Words(chain, one_word, per_type, self._crossings)
        self._cache: _Types | None = None
        self._lock = threading.Lock()

    # ---- compiling

    def _is_small(self, observation: Observation) -> bool:
        return observation.by_token or self.sizes[observation] <= _FEW_VALUES

    def _rows(self, places: Iterable[Place]) -> int:
        return math.prod(self.sizes[o] for o, _ in places)

    def _add_to_product(self, template: Template, parts: list[IntArray], weights: FloatArray) -> None:
        """Into the first table that stays small enough with it, else into a new one."""
        for product in self._products:
            if product.rows_with(template, self.sizes) <= _PRODUCT_ROWS:
                break
        else:
            product = _Product(self.labels)
            self._products.append(product)
        product.add(template, parts, weights, self.sizes)

    def _add_to_crossing(
        self, template: Template, parts: list[IntArray], weights: FloatArray, offset: int, places: frozenset[Place]
    ) -> None:
        """Into the first crossing of the same places that has room for its keys, else into a new one."""
        for crossing in self._crossings:
            if crossing.offset == offset and places == set(crossing.places) and crossing.has_room(len(weights)):
                break
        else:
            crossing = _Crossing(offset, places, self.sizes, self.labels)
            self._crossings.append(crossing)
        crossing.add(template, parts, weights)

    def _add_to_trie(self, template: Template, parts: list[IntArray], weights: FloatArray) -> None:
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
        return [o for o in dict.fromkeys(in_products + in_crossings + in_trie) if not o.by_token]

    # ---- tagging

    def decode(self, documents: Sequence[Document]) -> list[list[str]]:
        """The best label of every token of every document."""
        layout = self._lay_out(documents)
        open_places, open_scores = [], []
        for low, scores in self._blocks(layout):
            places = np.flatnonzero(decoding.undecided(scores, self._margin) & layout.inside[low : low + len(scores)])
            open_scores.append(scores.take(places, axis=0) + self.chain.bias)
            open_places.append(places + low)
        best = decoding.viterbi_at(
            np.concatenate(open_places),
            np.concatenate(open_scores),
            self.chain.transition,
            len(layout.types),
            layout.starts,
            layout.lengths,
        )
        names = np.array(self.chain.labels, dtype=object)[best].tolist()
        return [
            names[start : start + length]
            for start, length in zip(layout.starts.tolist(), layout.lengths.tolist(), strict=True)
        ]

    def emissions(self, documents: Sequence[Document]) -> tuple[FloatArray, IntArray, IntArray]:
        """The score of every label at every position (P, L), and the documents' starts and lengths (D,) in it."""
        layout = self._lay_out(documents)
        result = np.zeros((len(layout.types), self.labels))
        for low, scores in self._blocks(layout):
            result[low : low + len(scores)] = scores
        return result, layout.starts, layout.lengths

    def marginals(self, documents: Sequence[Document]) -> list[FloatArray]:
        """Per document the probability of every label at every token (T, L)."""
        emission, starts, lengths = self.emissions(documents)
        found = decoding.marginals(emission, self.chain.transition, lengths, starts)
        return [found[start : start + length] for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)]

    def _lay_out(self, documents: Sequence[Document]) -> _Layout:
        lengths = np.array([len(document.words) for document in documents], dtype=np.int64)
        tokens = int(lengths.sum())
        reach = max(self.reach, 1)
        starts = np.cumsum(lengths) - lengths + reach * np.arange(1, len(lengths) + 1)
        size = tokens + reach * (len(lengths) + 1)
        inside = np.ones(size, dtype=bool)
        inside[:reach] = False
        inside[(starts + lengths)[:, None] + np.arange(reach)] = False
        with self._lock:
            cache, self._cache = self._cache, None  # put back at the end: after a Ctrl-C in between it is half filled
            if cache is None or len(cache) > CACHED_TYPES:
                cache = _Types(self._words)
            words = concatenated.from_iterable(document.words for document in documents)
            found = np.frombuffer(b"".join(map(cache.__getitem__, words)), dtype=np.int32)
            rows = cache.rows()
            self._cache = cache
        types = np.full(size, _EDGE_TYPE, dtype=np.int32)
        types[inside] = found
        columns = []
        if self._by_token:
            marks = None
            if any(o.name == MARK for o in self._by_token):
                marks = mark_numbers((document.marks for document in documents), lengths.tolist())
            pauses = Pauses(_times(documents, lengths), rows.characters.take(found), lengths, marks)
            for observation in self._by_token:
                values = np.full(size, EDGE, dtype=np.int16)
                values[inside] = observation.of_pauses(pauses)
                columns.append(values)
        return _Layout(types, inside, starts, lengths, rows, columns, reach)

    def _blocks(self, layout: _Layout) -> Iterator[tuple[int, FloatArray]]:
        """Emissions, block by block: the position of the first row, and scores (positions, L)."""
        end = len(layout.types) - layout.reach
        if end <= layout.reach:
            yield layout.reach, np.zeros((0, self.labels))
        for low in range(layout.reach, end, BLOCK_POSITIONS):
            block = _Block(layout, low, min(low + BLOCK_POSITIONS, end), self.labels)
            for offset, rows in layout.rows.scores.items():
                block.add(rows, block.types(offset, offset))
            for product in self._products:
                block.add(product.table, product.key(block))
            for number, crossing in enumerate(self._crossings):
                block.add(layout.rows.crossed[number].reshape(-1, self.labels), crossing.row(block, number))
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
    inside: NDArray[np.bool_]
    starts: IntArray
    lengths: IntArray
    rows: _Rows
    columns: list[NDArray[np.int16]]
    reach: int


class _Block:
    """The positions low … high - 1 of a layout while their scores (high - low, L) are summed up.

    A stretch of the block is given by how far its first and last place are from the block's own.
    """

    def __init__(self, layout: _Layout, low: int, high: int, labels: int) -> None:
        self.rows = layout.rows
        self.scores = np.zeros((high - low, labels))
        self._reach = layout.reach
        self._all = slice(low - layout.reach, high + layout.reach)
        # Index arrays of another type would be converted at every gather.
        self._types = layout.types[self._all].astype(np.intp)
        self._columns = layout.columns
        self._values: dict[int, NDArray[np.int32]] = {}
        self._addend = np.empty_like(self.scores)

    def stretch(self, array: NDArray[Any], first: int, last: int) -> NDArray[Any]:
        """The part of an array over the block and `reach` places on both of its sides."""
        return array[self._reach + first : len(array) - self._reach + last]

    def types(self, first: int, last: int) -> IntArray:
        """The word types of a stretch."""
        return self.stretch(self._types, first, last)

    def values(self, column: int, first: int, last: int) -> NDArray[np.int32]:
        """The value numbers of a column at the places of a stretch."""
        if column not in self._values:
            if column < len(self._columns):
                self._values[column] = self._columns[column][self._all].astype(np.int32)
            else:
                self._values[column] = self.rows.numbers[column - len(self._columns)].take(self._types)
        return self.stretch(self._values[column], first, last)

    def add(self, table: FloatArray, rows: NDArray[np.integer]) -> None:
        """Add a row of a table (…, L) to the scores of each place."""
        # The rows are known to be in the table; numpy would check them into a copy.
        table.take(rows, axis=0, out=self._addend, mode="clip")
        self.scores += self._addend


# ---------------------------------------------------------------- 1. rows per word type


@dataclass(slots=True)
class _Rows:
    """What the word types contribute, by type number (capacity, …); row 0 is the edge of a document.

    scores: per offset, the summed weights (capacity, L). classes: per crossing the word's class. numbers: per
    column of word observations the value number. characters: length of the normal form. crossed: per crossing, the
    weights of its classes (classes, L · rows).
    """

    scores: dict[int, FloatArray]
    classes: list[NDArray[np.int32]]
    numbers: list[NDArray[np.int32]]
    characters: NDArray[np.int32]
    crossed: list[FloatArray]

    def by_type(self) -> Iterator[NDArray[np.generic]]:
        """All arrays that have a row per type."""
        yield from self.scores.values()
        yield from self.classes
        yield from self.numbers
        yield self.characters


class _Words:
    """All that depends on one word alone, and how to work it out for new word types."""

    def __init__(
        self,
        chain: LinearChain,
        one_word: Sequence[tuple[Template, list[IntArray], FloatArray]],
        per_type: Sequence[Observation],
        crossings: Sequence[_Crossing],
    ) -> None:
        self.labels = len(chain.labels)
        self.crossings = crossings
        self.per_type = per_type
        used = [o for template, _, _ in one_word for o, _ in template.use]
        crossed = [o for crossing in crossings for o in crossing.observations()]
        self.observations = list(dict.fromkeys([*used, *crossed, *per_type]))
        values = chain.index.values
        self.sizes = {o: FIRST_VALUE + len(values[o]) for o in self.observations}
        self.numberings = {o: _numbering(o, values[o], chain.index.lexicons) for o in self.observations}
        # Per offset: (observations, table of weights by value number) or, for several observations, a lookup of keys.
        self.by_offset: dict[int, list[tuple[tuple[Observation, ...], _Lookup | None, FloatArray]]] = {}
        for template, parts, weights in one_word:
            observations = tuple(o for o, _ in template.use)
            entries = self.by_offset.setdefault(template.use[0][1], [])
            if len(observations) == 1:
                table = np.zeros((FIRST_VALUE + len(chain.index.values[observations[0]]), self.labels))
                table[parts[0]] = weights
                entries.append((observations, None, table))
            else:
                lookup = _Lookup.of(self._mixed(parts, observations))
                entries.append((observations, lookup, np.vstack([np.zeros((1, self.labels)), weights])))

    def empty(self, capacity: int) -> _Rows:
        return _Rows(
            {offset: np.zeros((capacity, self.labels)) for offset in self.by_offset},
            [np.zeros(capacity, dtype=np.int32) for _ in self.crossings],
            [np.zeros(capacity, dtype=np.int32) for _ in self.per_type],
            np.zeros(capacity, dtype=np.int32),
            [],
        )

    def fill(self, rows: _Rows, first: int, words: Sequence[str]) -> dict[Observation, NDArray[np.int32]]:
        """Work out the types from number `first` on; returns their value numbers."""
        forms = _Forms(normals(words))
        span = slice(first, first + len(words))
        numbers = {o: numbering.of(forms) for o, numbering in self.numberings.items()}
        rows.characters[span] = forms.lengths
        self._fill(rows, span, numbers)
        return numbers

    def fill_edge(self, rows: _Rows) -> dict[Observation, NDArray[np.int32]]:
        """Type 0, the edge of a document; returns its value numbers."""
        numbers = dict.fromkeys(self.observations, np.full(1, EDGE, dtype=np.int32))
        self._fill(rows, slice(0, 1), numbers)
        return numbers

    def _fill(self, rows: _Rows, span: slice, numbers: Mapping[Observation, NDArray[np.int32]]) -> None:
        for offset, entries in self.by_offset.items():
            for observations, lookup, table in entries:
                if lookup is None:
                    rows.scores[offset][span] += table.take(numbers[observations[0]], axis=0)
                else:
                    parts = [numbers[o].astype(np.int64) for o in observations]
                    ids = lookup.find(self._mixed(parts, observations))
                    ids[np.any([part == UNSEEN for part in parts], axis=0)] = 0
                    rows.scores[offset][span] += table.take(ids, axis=0)
        for column, o in zip(rows.numbers, self.per_type, strict=True):
            column[span] = numbers[o]

    def _mixed(self, parts: Sequence[IntArray], observations: Sequence[Observation]) -> IntArray:
        key = np.zeros(len(parts[0]), dtype=np.int64)
        for part, observation in zip(parts, observations, strict=True):
            key = key * self.sizes[observation] + part
        return key


class _Forms:
    """W words in their normal form, and their characters laid end to end.

    lengths, ends (W,): of the words in `codes`, the code points. alphabetic (W,): where a word is letters only.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
        self.ends = np.cumsum(self.lengths)
        self.codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)

    @cached_property
    def alphabetic(self) -> NDArray[np.bool_]:
        return np.fromiter(map(str.isalpha, self.words), dtype=bool, count=len(self.words))


class _Numbering(Protocol):
    """The value numbers (W,) of one observation for many words at once: those of `Observation.of_word`."""

    def of(self, forms: _Forms) -> NDArray[np.int32]: ...


def _numbering(
    observation: Observation, values: Sequence[str], lexicons: Mapping[str, Mapping[str, str]]
) -> _Numbering:
    numbers = range(FIRST_VALUE, FIRST_VALUE + len(values))
    if observation.name == "word":
        return _Entries(values, numbers, UNSEEN)
    number_of = dict(zip(values, numbers, strict=True))
    if observation.lexicon:
        return _Listed(lexicons[observation.lexicon], number_of)
    if observation.name in ("prefix", "suffix") and (1 + len(set("".join(values)))) ** observation.n < 2**62:
        return _Affixes(observation, values)
    return _OneByOne(observation, number_of)


class _Entries:
    """Words that have an entry, and the number of all others."""

    def __init__(self, words: Iterable[str], numbers: Sequence[int], otherwise: int) -> None:
        # As bytes, like the numbers of the types themselves.
        *as_bytes, self._otherwise = np.array([*numbers, otherwise], dtype=np.int32).view("V4").tolist()
        self._entries: dict[str, bytes] = dict(zip(words, as_bytes, strict=True))

    def of(self, forms: _Forms) -> NDArray[np.int32]:
        entry, otherwise = self._entries.get, self._otherwise
        return np.frombuffer(b"".join([entry(word, otherwise) for word in forms.words]), dtype=np.int32)


class _Listed:
    """The classes of words in a lexicon, which may have many more entries than a text has words."""

    def __init__(self, entries: Mapping[str, str], numbers: Mapping[str, int]) -> None:
        self._entries = entries
        self._numbers = numbers

    def of(self, forms: _Forms) -> NDArray[np.int32]:
        entry, number = self._entries.get, self._numbers.get
        found = [number(entry(word, ""), UNSEEN) for word in forms.words]
        return np.array(found, dtype=np.int32)


class _OneByOne:
    """Any observation. Where it says no more of a word of letters than its length, only other words are looked at."""

    def __init__(self, observation: Observation, numbers: Mapping[str, int]) -> None:
        self._observation = observation
        self._numbers = numbers
        self._by_length = observation.name in OF_LENGTH
        self._of_letters = np.array([self._one("a" * max(k, 1)) for k in range(LONGEST + 1)], dtype=np.int32)

    def _one(self, word: str) -> int:
        return self._numbers.get(self._observation.of_word(word, {}), UNSEEN)

    def of(self, forms: _Forms) -> NDArray[np.int32]:
        result: NDArray[np.int32] = self._of_letters.take(np.minimum(forms.lengths, LONGEST))
        others = ~forms.alphabetic if self._by_length else np.ones(len(forms.words), dtype=bool)
        places = np.flatnonzero(others)
        result[places] = [self._one(forms.words[i]) for i in places.tolist()]
        return result


class _Affixes:
    """The first or last n characters of a word, as one number whose digits are their places in the alphabet."""

    def __init__(self, observation: Observation, values: Sequence[str]) -> None:
        self._n = observation.n
        self._at_end = observation.name == "suffix"
        # A word of less than n characters has the value "".
        numbers = FIRST_VALUE + np.arange(len(values), dtype=np.int32)
        self._too_short = UNSEEN
        if "" in values:
            place = values.index("")
            self._too_short = FIRST_VALUE + place
            numbers = np.delete(numbers, place)
        codes = np.array(sorted(map(ord, set("".join(values)))), dtype=np.int64)
        self._digits = np.zeros(int(codes.max(initial=0)) + 2, dtype=np.int64)
        self._digits[codes] = np.arange(1, len(codes) + 1)
        self._base = len(codes) + 1
        self._numbers = np.append(np.int32(UNSEEN), numbers)
        self._lookup = _Lookup.of(self._keys(_Forms([value for value in values if value])))

    def _keys(self, forms: _Forms) -> IntArray:
        """The number of each word's affix; without meaning where it has none."""
        first = forms.ends - (self._n if self._at_end else forms.lengths)
        key = np.zeros(len(first), dtype=np.int64)
        for i in range(self._n):
            key *= self._base
            # Characters that no affix of the model has are 0, which is no digit.
            key += self._digits.take(forms.codes.take(first + i, mode="clip"), mode="clip")
        return key

    def of(self, forms: _Forms) -> NDArray[np.int32]:
        if len(forms.codes) == 0:
            return np.full(len(forms.words), self._too_short, dtype=np.int32)
        found = self._numbers.take(self._lookup.find(self._keys(forms)))
        found[forms.lengths < self._n] = self._too_short
        return found


class _Types(dict[str, bytes]):
    """Word -> type number; a new word gets the next one, and its rows when `rows` is called.

    Numbers are kept as the four bytes that they take in an array: those of a batch are joined, which costs less
    than half of what making an array of Python's integers does.
    """

    def __init__(self, words: _Words) -> None:
        super().__init__()
        self._words = words
        self._new: list[str] = []
        self._filled = 1
        self._rows = words.empty(1 << 12)
        # Per crossing: the numbers of a word that its templates look at, mixed into one key -> class.
        self._classes: list[dict[int, int]] = [{} for _ in words.crossings]
        self._rows.crossed = [np.zeros((0, crossing.rows * words.labels)) for crossing in words.crossings]
        self._classify(slice(0, 1), words.fill_edge(self._rows))

    def __missing__(self, word: str) -> bytes:
        number = self[word] = (len(self) + 1).to_bytes(4, sys.byteorder)
        self._new.append(word)
        return number

    def rows(self) -> _Rows:
        """The rows of all types numbered so far. What was returned earlier stays valid for its types."""
        if self._new:
            needed = self._filled + len(self._new)
            if needed > len(self._rows.characters):
                self._rows = self._grown(max(needed, 2 * len(self._rows.characters)))
            numbers = self._words.fill(self._rows, self._filled, self._new)
            self._classify(slice(self._filled, needed), numbers)
            self._filled, self._new = needed, []
        return self._rows

    def _classify(self, span: slice, numbers: Mapping[Observation, NDArray[np.int32]]) -> None:
        for i, (crossing, known) in enumerate(zip(self._words.crossings, self._classes, strict=True)):
            keys = crossing.keys(numbers)
            before = len(known)
            classes = [known.setdefault(key, len(known)) for key in keys.tolist()]
            self._rows.classes[i][span] = classes
            if len(known) > before:
                fresh = crossing.weights_of(np.array(list(islice(known, before, None)), dtype=np.int64))
                table = self._rows.crossed[i]
                if len(known) > len(table):
                    # Doubled, so that growing costs little per class; rows given out before stay valid.
                    grown = np.zeros((max(2 * len(table), len(known)), table.shape[1]))
                    grown[:before] = table[:before]
                    self._rows.crossed[i] = table = grown
                table[before : len(known)] = fresh

    def _grown(self, capacity: int) -> _Rows:
        rows, old = self._words.empty(capacity), self._rows
        for new_array, old_array in zip(rows.by_type(), old.by_type(), strict=True):
            new_array[: self._filled] = old_array[: self._filled]
        rows.crossed = old.crossed
        return rows


# ---------------------------------------------------------------- 2. product tables


class _Product:
    """Templates over a few small observations, summed into one table over the product of their values."""

    def __init__(self, labels: int) -> None:
        self.places: list[Place] = []
        self.columns: list[tuple[int, int]] = []  # the places' columns and offsets, once all are in
        self.table = np.zeros((1, labels))  # reshaped to one axis per place while it grows
        self.shape: list[int] = []

    def rows_with(self, template: Template, sizes: Mapping[Observation, int]) -> int:
        return math.prod(sizes[o] for o, _ in dict.fromkeys([*self.places, *template.use]))

    def add(
        self, template: Template, parts: list[IntArray], weights: FloatArray, sizes: Mapping[Observation, int]
    ) -> None:
        labels = self.table.shape[1]
        for place in template.use:
            if place not in self.places:
                size = sizes[place[0]]
                self.places.append(place)
                self.shape.append(size)
                self.table = np.repeat(self.table, size, axis=0)
        grid = self.table.reshape(*self.shape, labels)
        index: list[IntArray | slice] = [slice(None)] * len(self.places)
        # One axis per place: those of the template are indexed by its attributes, the others take all values.
        axes = [self.places.index(place) for place in template.use]
        moved = np.moveaxis(grid, axes, range(len(axes)))
        index = list(parts)
        extra = moved.ndim - len(axes) - 1
        moved[tuple(index)] += weights.reshape(len(weights), *([1] * extra), labels)

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

    def __init__(self, offset: int, places: frozenset[Place], sizes: Mapping[Observation, int], labels: int) -> None:
        self.offset = offset
        self.places = sorted(places, key=str)
        self.columns: list[tuple[int, int]] = []  # as in `_Product`
        self.shape = [sizes[o] for o, _ in self.places]
        self.rows = math.prod(self.shape)
        self._sizes = sizes
        self._labels = labels
        # (word observations, lookup of their mixed values, weights by number (numbers, rows, L))
        self._entries: list[tuple[list[Observation], _Lookup, FloatArray]] = []

    def add(self, template: Template, parts: list[IntArray], weights: FloatArray) -> None:
        word = [i for i, place in enumerate(template.use) if place not in self.places]
        observations = [template.use[i][0] for i in word]
        keys = self._mix([parts[i] for i in word], observations)
        distinct, numbers = np.unique(keys, return_inverse=True)
        row = np.zeros(len(keys), dtype=np.int64)
        for place, size in zip(self.places, self.shape, strict=True):
            row = row * size + parts[template.use.index(place)]
        table = np.zeros((len(distinct) + 1, self.rows, self._labels))
        table[numbers + 1, row] = weights
        self._entries.append((observations, _Lookup.of(distinct), table))

    def has_room(self, attributes: int) -> bool:
        """Whether classes still fit into 64 bits with one more template of so many attributes."""
        return math.prod(len(table) for _, _, table in self._entries) * (attributes + 1) < 2**62

    def observations(self) -> list[Observation]:
        return [o for observations, _, _ in self._entries for o in observations]

    def _mix(self, parts: Sequence[IntArray], observations: Sequence[Observation]) -> IntArray:
        key = np.zeros(len(parts[0]), dtype=np.int64)
        for part, observation in zip(parts, observations, strict=True):
            key = key * self._sizes[observation] + part
        return key

    def keys(self, numbers: Mapping[Observation, NDArray[np.int32]]) -> IntArray:
        """The class key of words from their value numbers."""
        key: IntArray = np.zeros(1, dtype=np.int64)
        for observations, lookup, table in self._entries:
            parts = [numbers[o].astype(np.int64) for o in observations]
            found = lookup.find(self._mix(parts, observations))
            found[np.any([part == UNSEEN for part in parts], axis=0)] = 0
            key = key * len(table) + found
        return key

    def weights_of(self, keys: IntArray) -> FloatArray:
        """The summed weights of classes, (classes, rows · L)."""
        total = np.zeros((len(keys), self.rows * self._labels))
        for _, _, table in reversed(self._entries):
            keys, numbers = np.divmod(keys, len(table))
            total += table.reshape(len(table), -1)[numbers]
        return total

    def row(self, block: _Block, number: int) -> NDArray[np.int32]:
        """The row of the classes' weights for each place of the block; number: of this crossing."""
        row = block.rows.classes[number].take(block.types(self.offset, self.offset))
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
    uses: list[tuple[int, IntArray, FloatArray]] = field(default_factory=list)
    keys: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    column: int = 0
    path_column: int = 0  # of the first word, for a path of two
    pairs: _Packed | None = None
    tables: list[tuple[int, FloatArray]] = field(default_factory=list)
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
        self.pairs = _Packed.of(*np.divmod(self.keys, self.size), self.size)
        by_base: dict[int, FloatArray] = {}
        for base, numbers, weights in self.uses:
            table = by_base.setdefault(base, np.zeros((len(self.keys) + 1, weights.shape[1])))
            table[numbers] += weights
        self.tables = list(by_base.items())
        bases = [base for node in self.walk() for base, _, _ in node.uses]
        self.nearest, self.furthest = min(bases), max(bases)

    def add_scores(self, block: _Block) -> None:
        """Add what this path and its continuations give to the places of the block."""
        self._follow(block, block.values(self.path_column, self.nearest, self.furthest))

    def _follow(self, block: _Block, path: NDArray[np.int32]) -> None:
        """path: the path's number so far, where its first word is at the places nearest … furthest."""
        assert self.pairs is not None
        offset = self.offset
        values = block.values(self.column, self.nearest + offset, self.furthest + offset)
        numbers = self.pairs.find(path, values)
        for base, table in self.tables:
            block.add(table, numbers[base - self.nearest : len(numbers) + base - self.furthest])
        for child in self.children.values():
            child._follow(block, numbers[child.nearest - self.nearest : len(numbers) + child.furthest - self.furthest])


@dataclass(frozen=True, slots=True)
class _Packed:
    """Pairs of numbers -> 1 + the pair's place among those given, 0 for any other pair.

    A sparse table whose rows (the pairs of one first number) are laid over each other, each moved along until no two
    entries share a slot (row displacement: Tarjan and Yao 1979). A slot knows its owner, so that a lookup is exact
    and takes one probe.
    """

    moved: NDArray[np.int32]  # by first number: where its row begins
    owners: NDArray[np.int32]  # by slot: the first number, -1 where the slot is free
    places: NDArray[np.int32]

    @staticmethod
    def of(first: IntArray, second: IntArray, size: int) -> _Packed:
        """From distinct pairs; second numbers are less than `size`."""
        order = np.argsort(first, kind="stable")
        rows, begins, counts = np.unique(first[order], return_index=True, return_counts=True)
        second = second[order]
        space = _Space(4 * len(first), size)
        begin_of = np.zeros(len(rows), dtype=np.int64)
        # The longest rows first, while there is room; short ones find their place among them, many at a time.
        longest = np.argsort(-counts, kind="stable")
        long_rows = int(np.count_nonzero(counts >= _LONG_ROW))
        for row in longest[:long_rows].tolist():
            begin_of[row] = space.place(second[begins[row] : begins[row] + counts[row]])
        short = np.sort(longest[long_rows:])
        begin_of[short] = space.place_all(second[np.repeat(counts < _LONG_ROW, counts)], counts[short])
        slots = np.repeat(begin_of, counts) + second
        moved = np.zeros(int(first.max(initial=0)) + 1, dtype=np.int32)
        moved[rows] = begin_of
        owners = np.full(len(space.taken), -1, dtype=np.int32)
        owners[slots] = first[order]
        places = np.zeros(len(space.taken), dtype=np.int32)
        places[slots] = 1 + order
        return _Packed(moved, owners, places)

    def find(self, first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.int32]:
        """1 + the place of each pair, or 0."""
        # A first number beyond the last row finds that row, which another number owns.
        slots = self.moved.take(first, mode="clip")
        slots += second
        return np.where(self.owners.take(slots) == first, self.places.take(slots), 0)


class _Space:
    """Slots in which rows find a place, each at the first of a series of beginnings where all of its slots are free."""

    def __init__(self, room: int, size: int) -> None:
        self.taken = np.zeros(room + size, dtype=bool)
        self._room = room
        self._size = size
        self._tried = 0

    def _beginnings(self, count: int) -> IntArray:
        """The next beginnings to try, spread over the room (Knuth, TAOCP 6.4: multiplicative hashing)."""
        found: IntArray = (self._tried + np.arange(count)) * 0x9E3779B1 % self._room
        self._tried += count
        if self._tried > _TRIES * self._room:
            # Crowded by rows that look alike: twice the room, the tries start again.
            self.taken = np.concatenate([self.taken, np.zeros(self._room, dtype=bool)])
            self._room *= 2
            self._tried = 0
        return found

    def place(self, row: IntArray) -> int:
        """Give a row, of distinct numbers less than `size`, its slots; returns where it begins."""
        while True:
            beginnings = self._beginnings(64)
            free = np.flatnonzero(~self.taken[beginnings[:, None] + row].any(axis=1))
            if len(free):
                begin = int(beginnings[free[0]])
                self.taken[begin + row] = True
                return begin

    def place_all(self, numbers: IntArray, counts: IntArray) -> IntArray:
        """The same for many rows, which stand end to end in `numbers`: where each begins."""
        begin_of = np.zeros(len(counts), dtype=np.int64)
        waiting = np.arange(len(counts))
        owner = np.repeat(waiting, counts)
        while len(waiting):
            begin_of[waiting] = self._beginnings(len(waiting))
            slots = begin_of[owner] + numbers
            # Of all entries that want a free slot one gets it; a row needs all of its own.
            claims = np.empty(len(self.taken), dtype=np.int64)
            claims[slots] = np.arange(len(slots))
            failed = np.zeros(len(counts), dtype=bool)
            failed[owner[self.taken[slots] | (claims[slots] != np.arange(len(slots)))]] = True
            placed = ~failed[owner]
            self.taken[slots[placed]] = True
            waiting = waiting[failed[waiting]]
            owner, numbers = owner[~placed], numbers[~placed]
        return begin_of


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Key -> 1 + its place among the keys given, 0 for any other key.

    A plain array where keys are small, else open addressing with multiplicative hashing (Knuth, TAOCP 6.4) in a
    table that is at most a quarter full, probed for all queries at once.
    """

    dense: NDArray[np.int32] | None
    slot_keys: IntArray
    slot_places: NDArray[np.int32]
    shift: np.uint64

    @staticmethod
    def of(keys: IntArray) -> _Lookup:
        none = np.zeros(0, dtype=np.int64)
        places = np.arange(1, len(keys) + 1, dtype=np.int32)
        top = int(keys.max(initial=0)) + 1
        if top <= _DENSE_PAIRS:
            dense = np.zeros(top, dtype=np.int32)
            dense[keys] = places
            return _Lookup(dense, none, none.astype(np.int32), np.uint64(0))
        bits = max(4, (4 * len(keys) - 1).bit_length())
        slot_keys = np.full(1 << bits, -1, dtype=np.int64)
        slot_places = np.zeros(1 << bits, dtype=np.int32)
        shift = np.uint64(64 - bits)
        slots = _hash(keys, shift)
        while len(keys):
            # Of all keys that want a free slot, the first gets it; the others try the next one.
            free = np.flatnonzero(slot_keys[slots] == -1)
            _, winners = np.unique(slots[free], return_index=True)
            winners = free[winners]
            slot_keys[slots[winners]] = keys[winners]
            slot_places[slots[winners]] = places[winners]
            left = np.ones(len(keys), dtype=bool)
            left[winners] = False
            keys, places = keys[left], places[left]
            slots = (slots[left] + 1) & (len(slot_keys) - 1)
        return _Lookup(None, slot_keys, slot_places, shift)

    def find(self, keys: IntArray) -> IntArray:
        """1 + the place of each key, or 0."""
        if self.dense is not None:
            small = keys < len(self.dense)
            return np.where(small, self.dense[np.where(small, keys, 0)], 0).astype(np.int64)
        slots = _hash(keys, self.shift)
        found = self.slot_keys[slots]
        result = np.where(found == keys, self.slot_places[slots], 0).astype(np.int64)
        unsettled = np.flatnonzero((found != keys) & (found != -1))
        slots = slots[unsettled]
        while len(unsettled):
            slots = (slots + 1) & (len(self.slot_keys) - 1)
            found = self.slot_keys[slots]
            wanted = keys[unsettled]
            result[unsettled] = np.where(found == wanted, self.slot_places[slots], 0)
            going = (found != wanted) & (found != -1)
            unsettled, slots = unsettled[going], slots[going]
        return result


def _hash(keys: IntArray, shift: np.uint64) -> IntArray:
    return ((keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> shift).astype(np.int64)
