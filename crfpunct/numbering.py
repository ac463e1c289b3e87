"""The value numbers of many words at once: those that `Observation.of_word` leads to word by word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crfpunct.casing import OwnCase
from crfpunct.lookups import IntArray, Lookup
from crfpunct.observations import FIRST_VALUE, LISTED, LONGEST, OF_LENGTH, UNSEEN, Observation
from crfpunct.templates import Lexicon

#: Patterns and endings whose numbers are kept before they are forgotten.
_REMEMBERED = 1 << 16
_NOT_LISTED = -1


class Forms:
    """W words in their normal form, and their characters laid end to end.

    lengths, ends (W,): of the words in `codes`, the code points.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
        self.ends = np.cumsum(self.lengths)
        self.codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)

    @cached_property
    def other_places(self) -> list[int]:
        """Where a word is not of letters only."""
        alphabetic = np.fromiter(map(str.isalpha, self.words), dtype=bool, count=len(self.words))
        return np.flatnonzero(~alphabetic).tolist()

    @cached_property
    def patterns(self) -> list[str]:
        """The words at `other_places` as drawings of the same shape and kind, of which there are few.

        Letters are `a`, no more than three in a row, and digits are `0`; a number, whose kind may be a year, is itself.
        """
        others = [self.words[i] for i in self.other_places]
        patterns = _draw("\n".join(others)).split("\n")
        if len(patterns) != len(others):
            patterns = [_draw(word) for word in others]
        return [word if drawn.isdecimal() else drawn for word, drawn in zip(others, patterns, strict=True)]


class _Drawn(dict[int, int]):
    """Code point -> that of `a` if it is a letter, that of `0` if it is a digit, else itself."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        drawn = self[code] = ord("a" if character.isalpha() else "0" if character.isdecimal() else character)
        return drawn


_DRAWN = _Drawn()


def _draw(text: str) -> str:
    return re.sub("a{4,}", "aaa", text.translate(_DRAWN))


class Numbering(Protocol):
    """The value numbers (W,) of one observation for many words at once."""

    def of(self, forms: Forms) -> NDArray[np.int32]:
        """The value number of each word, UNSEEN where its value has none."""
        ...


def numbering(observation: Observation, values: Sequence[str], lexicons: Mapping[str, Mapping[str, str]]) -> Numbering:
    """The numbering of an observation whose values are numbered from FIRST_VALUE on; all others are UNSEEN."""
    if observation.name in ("prefix", "suffix") and (1 + len(set("".join(values)))) ** observation.n < 2**62:
        return _Affixes(observation, values)
    number_of = dict(zip(values, range(FIRST_VALUE, FIRST_VALUE + len(values)), strict=True))
    if observation.name == "word":
        return _Words(number_of)
    if observation.lexicon:
        lexicon = lexicons[observation.lexicon]
        if observation.name == LISTED:  # all classes are one value, and to have none is none
            listed = (lexicon.words, lexicon.endings) if isinstance(lexicon, Lexicon) else (lexicon,)
            number_of = dict.fromkeys({value for entries in listed for value in entries.values()} - {""}, FIRST_VALUE)
        if isinstance(lexicon, Lexicon):
            return _ByEnding(lexicon, number_of)
        return _ByParts(lexicon, number_of) if isinstance(lexicon, OwnCase) else _Listed(lexicon, number_of)
    if observation.name == "length":
        return _Lengths(observation, number_of)
    if observation.name in OF_LENGTH:
        return _ByPattern(observation, number_of)
    return _OneByOne(observation, number_of)


def _found(numbers: Mapping[Any, int], keys: Iterable[Any]) -> NDArray[np.int32]:
    # No step of it in Python: there are hundreds of thousands of words.
    return np.fromiter(map(numbers.get, keys, repeat(UNSEEN)), dtype=np.int32)


class _Words:
    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers

    def of(self, forms: Forms) -> NDArray[np.int32]:
        return _found(self._numbers, forms.words)


class _Listed:
    """The classes of words in a lexicon, which may have many more entries than a text has words."""

    def __init__(self, entries: Mapping[str, str], numbers: Mapping[str, int]) -> None:
        self._entries = entries
        self._numbers: dict[str | None, int] = {None: numbers.get("", UNSEEN)}
        self._numbers.update(numbers)

    def of(self, forms: Forms) -> NDArray[np.int32]:
        return _found(self._numbers, map(self._entries.get, forms.words))

    def _one(self, value: str) -> int:
        return self._numbers.get(value, UNSEEN)


class _ByEnding(_Listed):
    """A lexicon that knows words by their endings, too.

    Endings are a trie that is walked from a word's last letter on, for all words that are not listed at once.
    """

    def __init__(self, lexicon: Lexicon, numbers: Mapping[str, int]) -> None:
        super().__init__(lexicon.words, numbers)
        self._numbers[None] = _NOT_LISTED
        self._digits = _Digits(lexicon.endings)
        # Step (node, digit) -> node; the nodes are numbered in order of their steps, the root is 0.
        digit, base = self._digits.of.tolist(), self._digits.base
        steps: dict[int, int] = {}
        number_at = {0: self._one("")}
        for ending, value in lexicon.endings.items():
            node = 0
            for character in reversed(ending):
                node = steps.setdefault(node * base + digit[ord(character)], len(steps) + 1)
            number_at[node] = self._one(value)
        self._step = Lookup.of(np.array(list(steps), dtype=np.int64))
        # _NOT_LISTED where no ending ends: what a shorter one says holds on.
        self._number_at = np.full(len(steps) + 1, _NOT_LISTED, dtype=np.int32)
        self._number_at[list(number_at)] = list(number_at.values())

    def of(self, forms: Forms) -> NDArray[np.int32]:
        result = super().of(forms)
        going = np.flatnonzero(result == _NOT_LISTED)
        result[going] = self._number_at[0]
        node = np.zeros(len(going), dtype=np.int64)
        left, place = forms.lengths.take(going), forms.ends.take(going)
        while len(going):
            left, place = left - 1, place - 1
            # Before its first letter a word has none: 0 is no digit of an ending.
            digits = np.where(left < 0, 0, self._digits.at(forms, place))
            node = self._step.find(node * self._digits.base + digits)
            kept = np.flatnonzero(node)
            going, node, left, place = (array.take(kept) for array in (going, node, left, place))
            found = self._number_at.take(node)
            result[going] = np.where(found == _NOT_LISTED, result.take(going), found)
        return result


class _ByParts(_Listed):
    """A lexicon that knows compounds by their parts, too: words with other characters than letters."""

    def __init__(self, lexicon: OwnCase, numbers: Mapping[str, int]) -> None:
        super().__init__(lexicon.words, numbers)
        self._lexicon = lexicon

    def of(self, forms: Forms) -> NDArray[np.int32]:
        result = super().of(forms)
        words = map(forms.words.__getitem__, forms.other_places)
        result[forms.other_places] = [self._one(self._lexicon.get(word, "")) for word in words]
        return result


class _OneByOne:
    """Any observation."""

    def __init__(self, observation: Observation, numbers: Mapping[str, int]) -> None:
        self._observation = observation
        self._numbers = numbers

    def one(self, word: str) -> int:
        return self._numbers.get(self._observation.of_word(word, {}), UNSEEN)

    def of(self, forms: Forms) -> NDArray[np.int32]:
        return np.array([self.one(word) for word in forms.words], dtype=np.int32)


class _Lengths(_OneByOne):
    def __init__(self, observation: Observation, numbers: Mapping[str, int]) -> None:
        super().__init__(observation, numbers)
        self._by_length = np.array([self.one("a" * k) for k in range(LONGEST + 1)], dtype=np.int32)

    def of(self, forms: Forms) -> NDArray[np.int32]:
        return self._by_length.take(np.minimum(forms.lengths, LONGEST))


class _ByPattern(_OneByOne):
    """An observation that says no more of letters than how many there are, so that a word's pattern tells it."""

    def __init__(self, observation: Observation, numbers: Mapping[str, int]) -> None:
        super().__init__(observation, numbers)
        self._of_letters = np.array([self.one("a" * k) if k else UNSEEN for k in range(LONGEST + 1)], dtype=np.int32)
        self._known: dict[str, int] = {}

    def of(self, forms: Forms) -> NDArray[np.int32]:
        result: NDArray[np.int32] = self._of_letters.take(np.minimum(forms.lengths, LONGEST))
        if len(self._known) > _REMEMBERED:
            self._known = {}
        known = self._known
        for pattern in forms.patterns:
            if pattern not in known:
                known[pattern] = self.one(pattern)
        result[forms.other_places] = [known[pattern] for pattern in forms.patterns]
        return result


class _Digits:
    """The characters of some texts as digits from 1 to base - 1; all others are 0."""

    def __init__(self, texts: Iterable[str]) -> None:
        codes = np.array(sorted(map(ord, set("".join(texts)))), dtype=np.int64)
        self.of = np.zeros(int(codes.max(initial=0)) + 2, dtype=np.int64)
        self.of[codes] = np.arange(1, len(codes) + 1)
        self.base = len(codes) + 1

    def at(self, forms: Forms, places: IntArray) -> IntArray:
        """The digits at some places of all forms; without meaning where a place is beyond them."""
        if len(forms.codes) == 0:
            return np.zeros(len(places), dtype=np.int64)
        return self.of.take(forms.codes.take(places, mode="clip"), mode="clip")


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
        self._digits = _Digits(values)
        self._numbers = np.append(np.int32(UNSEEN), numbers)
        self._lookup = Lookup.of(self._keys(Forms([value for value in values if value])))

    def _keys(self, forms: Forms) -> IntArray:
        """The number of each word's affix; without meaning where it has none."""
        first = forms.ends - (self._n if self._at_end else forms.lengths)
        key = np.zeros(len(first), dtype=np.int64)
        for i in range(self._n):
            key *= self._digits.base
            key += self._digits.at(forms, first + i)
        return key

    def of(self, forms: Forms) -> NDArray[np.int32]:
        found = self._numbers.take(self._lookup.find(self._keys(forms)))
        found[forms.lengths < self._n] = self._too_short
        return found
