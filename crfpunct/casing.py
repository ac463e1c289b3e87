"""The case of words: classes, and spelling a word in a class without ever losing a letter."""

from __future__ import annotations

from collections.abc import Mapping
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
    upper: lower-case letters whose capital is not Unicode's default, from the language's feature file (Turkish: i -> İ).

    Whatever the class, a word keeps its letters: where its capital form does not lead back to it (``ß`` -> ``SS``), the
    word stays as it is.
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
        >>> [s.spell(*pair) for pair in [("łódź", "TITLE"), ("nato", "UPPER"), ("IPHONE", "MIXED"), ("straße", "UPPER")]]
        ['Łódź', 'NATO', 'iPhone', 'straße']
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
