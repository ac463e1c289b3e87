"""Keys -> places, exactly and for many queries at once: pairs in packed sparse tables, single keys by hashing.

A place is 1 + the position of a key among those given; 0 stands for every other key.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
Found = tuple[IntArray, NDArray[np.integer]]

#: A lookup over keys up to this is an array; over larger ones it is hashed.
_DENSE_KEYS = 1 << 17
#: Pairs of so few possible numbers are a plain table.
_GRID = 1 << 14
#: Of packed rows: those of at least so many entries are placed one by one; after so many tries a slot, room is made.
_LONG_ROW = 16
#: The last ones, too: trying one beginning of each at a time would take many rounds.
_FEW_ROWS = 16
_TRIES = 8
#: So many pairs are looked up by binary search before the table is packed.
_SEARCHES = 5000


@dataclass(frozen=True, slots=True)
class Packed:
    """Pairs of numbers from 1 on -> 1 + the pair's place among those given.

    A sparse table whose rows (the pairs of one first number) are laid over each other, each moved along until no two
    entries share a slot (row displacement: Tarjan and Yao 1979). A slot knows its owner, so that a lookup is exact
    and takes one probe.
    """

    moved: NDArray[np.int32]  # by first number: where its row begins
    # By slot; apart, because most pairs are unknown, which the owner tells. Free slots
    # have an owner that no query asks for.
    owners: NDArray[np.integer]
    places: NDArray[np.integer]

    @staticmethod
    def of(first: IntArray, second: IntArray, sizes: tuple[int, int]) -> Packed:
        """From distinct pairs; sizes: what first and second numbers are less than, here and in `find`."""
        order = np.argsort(first, kind="stable")
        rows, begins, counts = np.unique(first[order], return_index=True, return_counts=True)
        second = second[order]
        space = _Space(4 * len(first), sizes[1])
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
        kind: type[np.uint16 | np.int32] = np.uint16 if max(sizes[0], len(first)) < 2**16 else np.int32
        owners = np.full(len(space.taken), np.iinfo(kind).max, dtype=kind)
        places = np.zeros(len(space.taken), dtype=kind)
        owners[slots], places[slots] = first[order], 1 + order
        return Packed(moved, owners, places)

    def find(self, first: NDArray[np.integer], second: NDArray[np.integer]) -> Found:
        """Which of the pairs are known, and 1 + the place of each of these."""
        # A first number beyond the last row finds that row, which another number owns.
        slots = self.moved.take(first, mode="clip")
        slots += second
        known = (self.owners.take(slots) == first).nonzero()[0]
        return known, self.places.take(slots.take(known))


class Pairs:
    """Pairs of numbers from 1 on -> 1 + the pair's place among those given: packed once that pays.

    Few numbers make a plain table. Packing takes longer than a few thousand searches, and a program that restores one
    line should start at once. Threads can share it: two may pack at the same time, and either result will do.
    """

    def __init__(self, first: IntArray, second: IntArray, sizes: tuple[int, int]) -> None:
        """From distinct pairs; sizes: what first and second numbers are less than, here and in `find`."""
        self._grid: NDArray[np.int32] | None = None
        self._sizes = sizes
        if math.prod(sizes) <= _GRID:
            self._grid = np.zeros(math.prod(sizes), dtype=np.int32)
            self._grid[first * sizes[1] + second] = np.arange(1, len(first) + 1)
            return
        # Rows are those of the numbers that have the fewest partners each: short ones find their place quickly.
        self._swapped = _longest(second) < _longest(first)
        if self._swapped:
            first, second, sizes = second, first, sizes[::-1]
        self._given = first, second
        self._sizes = sizes
        keys = first * sizes[1] + second
        order = np.argsort(keys)
        # One more, larger than any, so that every search ends at one.
        self._sorted = np.append(keys[order], np.iinfo(np.int64).max)
        self._places = (1 + order).astype(np.int32)
        self._left = _SEARCHES
        self._packed: Packed | None = None

    def find(self, first: NDArray[np.integer], second: NDArray[np.integer]) -> Found:
        """As `Packed.find`."""
        if self._grid is not None:
            key = first * np.int32(self._sizes[1])
            key += second
            places = self._grid.take(key)
            known = places.nonzero()[0]
            return known, places.take(known)
        if self._swapped:
            first, second = second, first
        if self._packed is None:
            self._left -= len(first)
            if self._left >= 0:
                return self._searched(first, second)
            self._packed = Packed.of(*self._given, self._sizes)
        return self._packed.find(first, second)

    def _searched(self, first: NDArray[np.integer], second: NDArray[np.integer]) -> Found:
        # As few steps as can be: for a short text, each costs as much for one word as for all.
        keys = first * np.int64(self._sizes[1])
        keys += second
        at = self._sorted.searchsorted(keys)
        known = (self._sorted.take(at) == keys).nonzero()[0]
        return known, self._places.take(at.take(known))


def _longest(numbers: IntArray) -> int:
    """How often the most frequent number is there."""
    return int(np.bincount(numbers).max(initial=0))


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
        count = 64
        while True:
            beginnings = self._beginnings(count)
            # Most fail at one of their first slots, so that the others need not be looked at.
            for part in (row[:8], row[8:]):
                beginnings = beginnings[~self.taken.take(beginnings[:, None] + part).any(axis=1)]
            if len(beginnings):
                begin = int(beginnings[0])
                self.taken[begin + row] = True
                return begin
            count *= 2

    def place_all(self, numbers: IntArray, counts: IntArray) -> IntArray:
        """The same for many rows, which stand end to end in `numbers`: where each begins."""
        begin_of = np.zeros(len(counts), dtype=np.int64)
        waiting = np.arange(len(counts))
        owner = np.repeat(waiting, counts)  # of each number the place of its row in `waiting`
        while len(waiting) > _FEW_ROWS:
            begin_of[waiting] = self._beginnings(len(waiting))
            slots = begin_of.take(waiting).take(owner) + numbers
            # Of all entries that want a free slot one gets it; a row needs all of its own.
            entries = np.arange(len(slots))
            claims = np.empty(len(self.taken), dtype=np.int64)
            claims[slots] = entries
            failed = np.zeros(len(waiting), dtype=bool)
            failed[owner[self.taken.take(slots) | (claims.take(slots) != entries)]] = True
            going = failed.take(owner)
            self.taken[slots[~going]] = True
            owner, numbers = (np.cumsum(failed) - 1).take(owner[going]), numbers[going]
            waiting = waiting[failed]
        for i, row in enumerate(waiting.tolist()):
            begin_of[row] = self.place(numbers[owner == i])
        return begin_of


@dataclass(frozen=True, slots=True)
class Lookup:
    """Key -> 1 + its place among the keys given, 0 for any other key.

    A plain array where keys are small, else open addressing with multiplicative hashing (Knuth, TAOCP 6.4) in a
    table that is at most a quarter full, probed for all queries at once.
    """

    dense: NDArray[np.int32] | None
    slot_keys: IntArray
    slot_places: NDArray[np.int32]
    shift: np.uint64

    @staticmethod
    def of(keys: IntArray) -> Lookup:
        none = np.zeros(0, dtype=np.int64)
        places = np.arange(1, len(keys) + 1, dtype=np.int32)
        top = int(keys.max(initial=0)) + 1
        if top <= _DENSE_KEYS:
            dense = np.zeros(top + 1, dtype=np.int32)  # the last stands for all larger keys
            dense[keys] = places
            return Lookup(dense, none, none.astype(np.int32), np.uint64(0))
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
        return Lookup(None, slot_keys, slot_places, shift)

    def find(self, keys: IntArray) -> IntArray:
        """1 + the place of each key, or 0."""
        if self.dense is not None:
            return self.dense.take(keys, mode="clip").astype(np.int64)
        slots = _hash(keys, self.shift)
        found = self.slot_keys.take(slots)
        settled = found == keys
        result: IntArray = self.slot_places.take(slots) * settled.astype(np.int64)
        settled |= found == -1
        unsettled = np.flatnonzero(~settled)
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
    slots = keys.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    slots >>= shift
    places: IntArray = slots.view(np.int64)
    return places
