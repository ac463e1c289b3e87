"""The case of words: classes, and spelling a word in a class without ever losing a letter."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

CaseClass = Literal["LOWER", "TITLE", "UPPER", "MIXED"]

#: In the order of a truecaser's labels: the first is the neutral one.
CLASSES: tuple[CaseClass, ...] = ("LOWER", "TITLE", "UPPER", "MIXED")


def case_class(word: str) -> CaseClass:
    """LOWER: no upper-case letter. TITLE: only the first letter. UPPER: all of two letters or more. MIXED: else.

    >>> [case_class(word) for word in ["kot", "3", "Ala", "I", '"Ala', "NATO", "PKP-u", "McDonald"]]
    ['LOWER', 'LOWER', 'TITLE', 'TITLE', 'TITLE', 'UPPER', 'MIXED', 'MIXED']
    """
    if word == word.lower():
        return "LOWER"
    letters = [letter for letter in word if letter.lower() != letter.upper()]
    raised = [letter != letter.lower() for letter in letters]
    if raised[0] and not any(raised[1:]):
        return "TITLE"
    return "UPPER" if all(raised) else "MIXED"


@dataclass(frozen=True)
class Spelling:
    """Spells words in a case class.

    surface: lower-case word -> the form of its MIXED spelling (``iphone`` -> ``iPhone``), learned from training text.
    upper: lower-case letters whose capital is not Unicode's default, from the language's feature file (Turkish i -> İ).

    Whatever the class, a word keeps its letters: where its capital form does not lead back to it (``ß`` -> ``SS``),
    the word stays as it is.
    """

    surface: Mapping[str, str] = field(default_factory=dict)
    upper: Mapping[str, str] = field(default_factory=dict)

    def lowered(self, word: str) -> str:
        """The word in lower case, or as it is where that would lose a letter.

        >>> Spelling().lowered("ŁÓDŹ"), Spelling(upper={"i": "İ", "ı": "I"}).lowered("DİYARBAKIR")
        ('łódź', 'diyarbakır')
        """
        if self.upper:
            back = {capital: letter for letter, capital in self.upper.items()}
            lower = "".join(back.get(letter) or letter.lower() for letter in word)
        else:
            lower = word.lower()
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
        if case == "UPPER":
            return self._checked(lower, "".join(self._capital(letter) for letter in lower))
        if case == "MIXED":
            return self._checked(lower, self.surface.get(lower) or self._mixed(lower))
        return self._checked(lower, self._title(lower))

    def _capital(self, letter: str) -> str:
        return self.upper.get(letter) or letter.upper()

    def _title(self, word: str) -> str:
        """Title case of the first letter, whatever signs stand before it; a word that begins with a digit is kept."""
        for place, letter in enumerate(word):
            if letter.isdecimal():
                break
            if letter.isalpha():
                # Title case, not upper case: the digraph ǆ becomes ǅ.
                return word[:place] + (self.upper.get(letter) or letter.title()) + word[place + 1 :]
        return word

    def _mixed(self, word: str) -> str:
        """A MIXED word that training never spelled: capitals after hyphens and apostrophes, else all capitals."""
        for sign in "-‑–'’":
            if sign in word.strip(sign):
                return sign.join(self._title(part) for part in word.split(sign))
        return "".join(self._capital(letter) for letter in word)

    def _checked(self, lower: str, raised: str) -> str:
        return raised if len(raised) == len(lower) and self.lowered(raised) == lower else lower


# ---------------------------------------------------------------- what training text tells about words

#: Marks after which a capital may be the sentence's, so that the word there tells nothing about its own case.
SENTENCE_ENDS = frozenset({".", "?", "!", "...", ":", "-"})
_LEAST_COUNT = 3  # a word seen less often mid-sentence gets no class of its own: it would describe itself in training
_SHARES = ((0.99, "always"), (0.9, "mostly"), (0.6, "often"), (0.0, "at times"))
_MANY = 10


@dataclass(frozen=True)
class Lexicons:
    """Statistics of words inside sentences.

    casing: lower-case word -> its commonest class, how often it has it, and how much evidence there is, as one
    value (``TITLE mostly many``). surface: lower-case word -> the spelling of its MIXED form.
    """

    casing: Mapping[str, str]
    surface: Mapping[str, str]


def learn(texts: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Lexicons:
    """From texts as (words with their case, mark behind each); words that open a sentence are left out."""
    classes: defaultdict[str, Counter[CaseClass]] = defaultdict(Counter)
    mixed: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for words, marks in texts:
        opening = True
        for word, mark in zip(words, marks, strict=True):
            if not any(letter.isalnum() for letter in word):
                continue  # a quotation sign between a full stop and the next sentence
            if not opening:
                case = case_class(word)
                classes[word.lower()][case] += 1
                if case == "MIXED":
                    mixed[word.lower()][word] += 1
            opening = mark in SENTENCE_ENDS
    casing = {word: _described(counts) for word, counts in classes.items() if counts.total() >= _LEAST_COUNT}
    surface = {}
    for word, forms in mixed.items():
        form, count = min(forms.items(), key=lambda item: (-item[1], item[0]))
        if count >= 2 and len(form) == len(word):
            surface[word] = form
    return Lexicons(casing, surface)


def _described(counts: Counter[CaseClass]) -> str:
    commonest = min(counts, key=lambda case: (-counts[case], CLASSES.index(case)))
    share = counts[commonest] / counts.total()
    often = next(name for least, name in _SHARES if share >= least)
    return f"{commonest} {often} {'many' if counts.total() >= _MANY else 'few'}"


class SortedLexicon(Mapping[str, str]):
    """A lexicon as sorted lines of word TAB value, searched by bisection: a hundred thousand words load in a moment."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n") if text else []

    @staticmethod
    def text_of(entries: Mapping[str, str]) -> str:
        """The lines of a lexicon, as `SortedLexicon` takes them."""
        return "\n".join(sorted(f"{word}\t{value}" for word, value in entries.items()))

    def __getitem__(self, word: str) -> str:
        key = word + "\t"
        place = bisect_left(self._lines, key)
        if place < len(self._lines) and self._lines[place].startswith(key):
            return self._lines[place][len(key) :]
        raise KeyError(word)

    def __iter__(self) -> Iterator[str]:
        return (line.partition("\t")[0] for line in self._lines)

    def __len__(self) -> int:
        return len(self._lines)
