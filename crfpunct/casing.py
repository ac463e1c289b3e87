"""The case of words: classes, and spelling a word in a class without ever losing a letter."""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from unicodedata import normalize

CaseClass = Literal["LOWER", "TITLE", "UPPER", "MIXED"]

#: In the order of a truecaser's labels: the first is the neutral one.
CLASSES: tuple[CaseClass, ...] = ("LOWER", "TITLE", "UPPER", "MIXED")

#: Quotation signs, brackets and the like around a word, which are no part of it.
WRITTEN_SIGNS = "\"„”“«»‹›‘’‚'`()[]{}<>*_|"


def case_class(word: str) -> CaseClass:
    """LOWER: no upper-case letter. TITLE: only the first letter. UPPER: all letters. MIXED: else.

    One capital letter alone is TITLE (``I``), but UPPER behind a digit (``3D``), where TITLE leaves a word as it is.

    >>> [case_class(word) for word in ["kot", "3", "Ala", "I", '"Ala', "F-16", "NATO", "3D", "PKP-u", "McDonald"]]
    ['LOWER', 'LOWER', 'TITLE', 'TITLE', 'TITLE', 'TITLE', 'UPPER', 'UPPER', 'MIXED', 'MIXED']
    """
    if word == word.lower():
        return "LOWER"
    first = _first_letter(word)
    if first >= 0 and _is_raised(word[first]) and word[first + 1 :] == word[first + 1 :].lower():
        return "TITLE"
    return "UPPER" if all(_is_raised(letter) for letter in word if _has_case(letter)) else "MIXED"


def caseless(text: str) -> str:
    """What is left of a text when its case is taken away, the Turkish letters' too: İ, ı, I and i are one.

    >>> caseless("İSTANBUL") == caseless("istanbul"), caseless("ILIK") == caseless("ılık")
    (True, True)
    """
    folded = text.casefold()
    return folded if folded.isascii() else folded.replace("i\u0307", "i").replace("ı", "i")


def _has_case(letter: str) -> bool:
    return letter.lower() != letter.upper()


def _is_raised(letter: str) -> bool:
    return letter != letter.lower()


def _first_letter(word: str) -> int:
    """The place of the first letter that has a case, whatever signs stand before it; -1 where a digit does."""
    for place, letter in enumerate(word):
        if letter.isdecimal():
            break
        if _has_case(letter):
            return place
    return -1


_LONGEST_ACRONYM = 6  # letters; longer ones are rare

_JOINTS = re.compile("([-‑–'’/])")


def _parts(word: str) -> Iterator[tuple[str, str]]:
    """The parts of a compound, as they are looked up (with the sign behind the first, before each other) and bare.

    >>> list(_parts("pas-de-calais"))
    [('pas-', 'pas'), ('-de', 'de'), ('-calais', 'calais')]
    """
    first, *others = _JOINTS.split(word)
    if others:
        yield first + others[0], first
    for sign, part in zip(others[::2], others[1::2], strict=True):
        yield sign + part, part


@dataclass(frozen=True)
class Spelling:
    """Spells words in a case class.

    surface: lower-case word -> the form of its MIXED spelling (``iphone`` -> ``iPhone``), and the same for parts of
    compounds (``prl-`` -> ``PRL-``, ``-sur`` -> ``-sur``), learned from training text; composed (NFC).
    upper: lower-case letters whose capital is not Unicode's default, from the language's feature file (Turkish i -> İ).
    own: what is known of each word's case (`Lexicons.casing`), for the parts of compounds.

    Whatever the class, a word keeps its letters: where its capital form does not lead back to it (``ß`` -> ``SS``),
    the word stays as it is.
    """

    surface: Mapping[str, str] = field(default_factory=dict)
    upper: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _lower(self) -> dict[str, str]:
        return {capital: letter for letter, capital in self.upper.items()}

    def lowered(self, word: str) -> str:
        """The word in lower case, or as it is where that would lose a letter.

        >>> Spelling().lowered("ŁÓDŹ"), Spelling(upper={"i": "İ", "ı": "I"}).lowered("DİYARBAKIR")
        ('łódź', 'diyarbakır')
        """
        lower = "".join([self._lower.get(c) or c.lower() for c in word]) if self.upper else word.lower()
        return lower if len(lower) == len(word) else word

    def spell(self, word: str, case: str) -> str:
        """The word, in any case, spelled in a class.

        >>> s = Spelling({"iphone": "iPhone"})
        >>> s.spell("łódź", "TITLE"), s.spell("nato", "UPPER"), s.spell("IPHONE", "MIXED"), s.spell("straße", "UPPER")
        ('Łódź', 'NATO', 'iPhone', 'straße')
        >>> [s.spell(word, "MIXED") for word in ["saryusz-wolski", "o'neill", "pkp"]]
        ['Saryusz-Wolski', "O'Neill", 'PKP']
        """
        lower = self.lowered(word)
        if case == "LOWER":
            return lower
        raised = {"TITLE": self._title, "UPPER": self._capitals, "MIXED": self._mixed}[case](lower)
        return raised if len(raised) == len(lower) and self.lowered(raised) == lower else lower

    def _title(self, word: str) -> str:
        place = _first_letter(word)
        if place < 0:
            return word
        # Title case, not upper case: the digraph ǆ becomes ǅ.
        return word[:place] + (self.upper.get(word[place]) or word[place].title()) + word[place + 1 :]

    def _capitals(self, word: str) -> str:
        return "".join([self.upper.get(letter) or letter.upper() for letter in word])

    def _mixed(self, word: str) -> str:
        """As learned, else by parts, else all capitals. Signs around the word stay."""
        core = word.strip(WRITTEN_SIGNS)
        composed = normalize("NFC", core)
        form = self.surface.get(composed) or self._compound(composed) or self._capitals(composed)
        return word.replace(core, form if core == composed else normalize("NFD", form), 1)

    def _compound(self, word: str) -> str:
        """Each part as learned in compounds, else as learned by itself, else with a capital; empty without parts.

        Behind an acronym, a part that is no name is an ending.

        >>> s = Spelling({"-sur": "-sur", "iphone": "iPhone"}, own={"pzu": "UPPER always many"})
        >>> s._compound("berry-sur-mer"), s._compound("pzu-owski"), s._compound("iphone'a"), s._compound("pkp")
        ('Berry-sur-Mer', 'PZU-owski', "iPhone'a", '')
        >>> s._compound("mcdonald's"), s._compound("o'neill")
        ("Mcdonald's", "O'Neill")
        """
        spelled: list[str] = []
        for key, part in _parts(word):
            known = self.own.get(part, "").partition(" ")[0]
            form = self._capitals(part) if known == "UPPER" else self._title(part)
            behind_acronym = spelled and case_class(spelled[0][:-1]) in ("UPPER", "MIXED") and known in ("", "LOWER")
            if behind_acronym or (key[0] in "'’" and len(part) <= _LONGEST_SUFFIX):
                form = part
            spelled.append(self.surface.get(key) or key.replace(part, self.surface.get(part) or form))
        if not spelled:
            return ""
        spelled[0] = spelled[0][:-1]  # the sign stands in front of the second part, too
        if case_class("".join(spelled)) == "TITLE" and len(spelled[0]) <= _LONGEST_ACRONYM:
            # One capital in front would make the word another class than MIXED: an acronym with an ending.
            spelled[0] = self._capitals(spelled[0])
        return "".join(spelled)


# ---------------------------------------------------------------- what training text tells about words

#: Marks after which a capital may be the sentence's, so that the word there tells nothing about its own case.
SENTENCE_ENDS = frozenset({".", "?", "!", "...", ":", "-"})
_SHARES = ((0.99, "always"), (0.9, "mostly"), (0.6, "often"))
_FEW, _MANY = 3, 10  # occurrences
_LEAST_FORMS = 2  # a spelling seen once is as likely a slip


_LONGEST_ENDING = 3  # letters
_LONGEST_SUFFIX = 2  # letters behind an apostrophe, even behind a name: 's, 'sa; but O'Day


@dataclass(frozen=True)
class OwnCase(Mapping[str, str]):
    """What training text tells about each word's case (`Lexicons.casing`), and about compounds by their parts.

    A compound that is not listed has the class that its parts make together, as sure as the first part is; up to three
    letters at its end that are no word are an ending.

    >>> own = OwnCase({"pkp": "UPPER always many", "ala": "TITLE often few", "nowak": "TITLE always many"})
    >>> own["pkp"], own["pkp-u"], own["ala's"], own["ala-nowak"], own.get("kot-nowak", "")
    ('UPPER always many', 'MIXED always many', 'TITLE often few', 'MIXED often few', '')
    """

    words: Mapping[str, str]

    def __getitem__(self, word: str) -> str:
        found = self.words.get(word)
        if found is not None:
            return found
        first, *others = _JOINTS.split(word)[::2]
        if not others or not (first and first in self.words):
            raise KeyError(word)
        sure = self.words[first].partition(" ")
        classes = [sure[0]]
        for part in others:
            if part in self.words:
                classes.append(self.words[part].partition(" ")[0])
            elif len(part) <= _LONGEST_ENDING:
                classes.append("LOWER")
            else:
                raise KeyError(word)
        if classes[0] in ("LOWER", "TITLE") and all(case == "LOWER" for case in classes[1:]):
            return f"{classes[0]} {sure[2]}"
        return f"{'UPPER' if all(case == 'UPPER' for case in classes) else 'MIXED'} {sure[2]}"

    def __iter__(self) -> Iterator[str]:
        """The words that are listed."""
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)


def ordinary_places(words: Sequence[str], marks: Sequence[str]) -> list[int]:
    """The places of the words in sentences that are not in capitals for the most part.

    Capitals throughout (a heading, a speaker's name, shouting) tell nothing about the words' own case.

    >>> ordinary_places(["ALA", "Kot", "z", "NATO", "NIE", "I", "nie"], [":", "", "", ".", "", "", ""])
    [1, 2, 3]
    """
    places: list[int] = []
    start = 0
    for end, mark in enumerate(marks, 1):
        if mark in SENTENCE_ENDS or end == len(marks):
            sentence = words[start:end]
            capitals = [word for word in sentence if word.isupper()]
            if not (any(len(word) > 1 for word in capitals) and 2 * len(capitals) > len(sentence)):
                places.extend(range(start, end))
            start = end
    return places


def begins_in_lower_case(words: Sequence[str]) -> bool:
    """Whether a text's first word has letters, and none of them is a capital.

    Such texts were mostly written down without capitals at the beginnings of sentences, as corpora write down
    conversation. They would teach that sentences begin so.

    >>> begins_in_lower_case(["no", "Jan"]), begins_in_lower_case(["Tak"]), begins_in_lower_case(["5"])
    (True, False, False)
    """
    return bool(words) and words[0].islower()


@dataclass(frozen=True)
class Lexicons:
    """Statistics of words inside sentences, which are looked up in lower case and composed (NFC).

    casing: word -> its commonest class, how often it has it, and how many occurrences tell so, as one value (``TITLE
    mostly many``, or ``TITLE at times``, however many). surface: word -> the spelling of its MIXED form, as for
    `Spelling`.
    """

    casing: Mapping[str, str]
    surface: Mapping[str, str]


def learn(texts: Iterable[tuple[Sequence[str], Sequence[str]]], lowered: Callable[[str], str] = str.lower) -> Lexicons:
    """From texts as (words with their case, mark behind each); words that open a sentence are left out."""
    classes: defaultdict[str, Counter[CaseClass]] = defaultdict(Counter)
    mixed: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for words, marks in texts:
        opening = True
        for word, mark in zip(words, marks, strict=True):
            if not any(letter.isalnum() for letter in word):
                continue  # a quotation sign between a full stop and the next sentence
            form = normalize("NFC", word)
            key = lowered(form)
            case = case_class(form)
            if not opening:
                classes[key][case] += 1
            if case == "MIXED" and len(key) == len(form):
                pairs = list(zip(_parts(key), _parts(form), strict=True))
                if not opening:
                    mixed[key][form] += 1
                # Of a compound that opens a sentence only the first part has the sentence's capital.
                for (part, _), (part_form, _) in pairs[opening:]:
                    mixed[part][part_form] += 1
            opening = mark in SENTENCE_ENDS
    casing = {word: _described(counts) for word, counts in classes.items()}
    commonest = {word: min(forms.items(), key=lambda item: (-item[1], item[0])) for word, forms in mixed.items()}
    return Lexicons(casing, {word: form for word, (form, count) in commonest.items() if count >= _LEAST_FORMS})


def _described(counts: Counter[CaseClass]) -> str:
    commonest = min(counts, key=lambda case: (-counts[case], CLASSES.index(case)))
    total = counts.total()
    often = next((name for least, name in _SHARES if counts[commonest] >= least * total), None)
    if often is None:
        return f"{commonest} at times"
    return f"{commonest} {often} {'many' if total >= _MANY else 'few' if total >= _FEW else 'rare'}"


_PARTS = 5
_BLOCK = 2000  # words in a row of one part: texts that stand side by side are often about the same names


def learn_from_others(
    texts: Sequence[tuple[Sequence[str], Sequence[str]]], lowered: Callable[[str], str] = str.lower
) -> tuple[list[Mapping[str, str]], list[int]]:
    """For each part of the texts the lexicon `casing` as all other parts have it; the part of every word."""
    total = sum(len(words) for words, _ in texts)
    size = max(1, min(_BLOCK, math.ceil(total / _PARTS)))
    pieces: list[list[tuple[Sequence[str], Sequence[str]]]] = [[] for _ in range(_PARTS)]
    part_of: list[int] = []
    for words, marks in texts:
        start = 0
        while start < len(words):
            part, end = len(part_of) // size % _PARTS, start + size - len(part_of) % size
            pieces[part].append((words[start:end], marks[start:end]))
            part_of += [part] * len(words[start:end])
            start = end
    learned = []
    for part in range(_PARTS):
        others = (piece for other in range(_PARTS) if other != part for piece in pieces[other])
        learned.append(learn(others, lowered).casing)
    return learned, part_of


def to_lines(lexicon: Mapping[str, str]) -> bytes:
    """A lexicon as sorted lines of word TAB value, in UTF-8.

    >>> to_lines({"b": "2", "a": "1"}), from_lines(b"a\\t1\\nb\\t2") == {"a": "1", "b": "2"}
    (b'a\\t1\\nb\\t2', True)
    """
    return "\n".join(sorted(f"{word}\t{value}" for word, value in lexicon.items())).encode()


def from_lines(lines: bytes) -> Mapping[str, str]:
    """The inverse of `to_lines`; ValueError where a line is not a word and its value, or not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(lines), _PIECE):
        decoder.decode(lines[start : start + _PIECE])
    decoder.decode(b"", final=True)
    if lines and lines.count(b"\t") != lines.count(b"\n") + 1:
        raise ValueError("a line that is no word, tab and value")
    return _Lines(lines)


_PIECE = 1 << 14  # bytes that are checked at once: the text of all of a lexicon would leave the processor's cache


class _Lines(Mapping[str, str]):
    """Sorted lines of word TAB value, searched by bisection until that has cost as much as to make them a dictionary.

    A program that restores one line would spend a tenth of a second on a dictionary of 139,000 words. The bytes of
    UTF-8 sort as the characters do, so that they need not be decoded either.
    """

    _SEARCHES = 200

    def __init__(self, lines: bytes) -> None:
        self._lines = lines
        self._left = self._SEARCHES

    @cached_property
    def _whole(self) -> dict[str, str]:
        fields = self._lines.decode().replace("\n", "\t").split("\t") if self._lines else []
        return dict(zip(fields[::2], fields[1::2], strict=True))

    def __getitem__(self, word: str) -> str:
        found: str | None = self.get(word)
        if found is None:
            raise KeyError(word)
        return found

    def get(self, word: str, default: Any = None) -> Any:
        if self._left <= 0:
            return self._whole.get(word, default)
        self._left -= 1
        lines, wanted = self._lines, f"{word}\t".encode("utf-8", "surrogatepass")
        # The first line that is not less than `wanted` begins at `low` or behind it, and not behind `high`.
        low, high = 0, len(lines)
        while low < high:
            start = lines.rfind(b"\n", low, (low + high) // 2) + 1 or low
            end = lines.find(b"\n", start, high)
            end = high if end < 0 else end + 1
            if lines[start:end] < wanted:
                low = end
            else:
                high = start
        if not lines.startswith(wanted, low):
            return default
        end = lines.find(b"\n", low)
        return lines[low + len(wanted) : end if end >= 0 else len(lines)].decode()

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)
