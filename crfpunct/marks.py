"""Marks: how they are taken off words and put back.

A mark stands behind a word and is written without a space before it: ``kota.`` is the word ``kota`` with the
mark ``.``. Which marks a model places is learned from its training data; which characters can be part of a
mark at all is fixed here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

#: The marks of WikiPunct (PolEval 2021, Task 1) and PolEval 2022, and the only ones that training text yields.
MARKS: tuple[str, ...] = (".", ",", "?", "!", "-", ":", ";", "...")

#: Characters that end a word as (part of) a mark. The ellipsis and the dashes are spellings of `...` and `-`.
MARK_CHARACTERS = ".,?!:;-…–—"

_SPELLINGS = str.maketrans({"…": "...", "–": "-", "—": "-"})


def split_mark(token: str) -> tuple[str, str]:
    """Split a token into its word and the run of mark characters behind it.

    A token of mark characters alone is all mark: the word is empty.

    >>> split_mark("kota."), split_mark("3.5"), split_mark("co?!"), split_mark("-")
    (('kota', '.'), ('3.5', ''), ('co', '?!'), ('', '-'))
    """
    word = token.rstrip(MARK_CHARACTERS)
    return word, token[len(word) :]


def label(mark: str) -> str:
    """The one of `MARKS` that a run of mark characters stands for, or `""` where there is no mark.

    The last mark of a run decides, as in the task's own score (PolEval: `?!` counts as `!`, `!?` as `?`).

    >>> label("?!"), label("…"), label("–"), label(",-"), label("....")
    ('!', '...', '-', '-', '...')
    """
    spelled = mark.translate(_SPELLINGS)
    return "..." if spelled.endswith("...") else spelled[-1:]


def strip(tokens: Iterable[str]) -> tuple[list[str], list[str]]:
    """Take the marks off the tokens of a punctuated text: words, and the mark behind each.

    A token that is nothing but marks (``- dodał``, ``the end .``) adds its mark to the word before it; in front
    of the first word it is dropped, since a mark stands behind a word. `attach` is the inverse for words
    that do not end in a mark character.

    >>> strip("tak , powiedział – dodał . 3.5".split())
    (['tak', 'powiedział', 'dodał', '3.5'], [',', '–', '.', ''])
    """
    words: list[str] = []
    marks: list[str] = []
    for token in tokens:
        word, mark = split_mark(token)
        if word:
            words.append(word)
            marks.append(mark)
        elif words:
            marks[-1] += mark
    return words, marks


def attach(words: Sequence[str], marks: Sequence[str]) -> list[str]:
    """Put each mark behind its word.

    >>> attach(["ala", "ma", "kota"], ["", "", "."])
    ['ala', 'ma', 'kota.']
    """
    return [word + mark for word, mark in zip(words, marks, strict=True)]


def any_marked(words: Sequence[str]) -> bool:
    """Whether any of the words ends in a mark character. Scans in C: no word is looked at one by one.

    >>> any_marked(["9-11", "3.5", "U.S"]), any_marked(["tak", "-"]), any_marked([])
    (False, True, False)
    """
    joined = " ".join(words) + " "
    return any(character in joined and character + " " in joined for character in MARK_CHARACTERS)


_DOTTED = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]|.*\d")


def removable(token: str, known: Collection[str]) -> str:
    """The token without the marks behind it, or as it is where they cannot be decided again.

    They cannot where they are none of the marks `known`, nor where the dot may belong to the word: behind initials
    (``U.S.``, ``J.``) and numbers (``5.`` is an ordinal in Polish and German). A token of marks alone stays.

    >>> [removable(token, MARKS) for token in ("kota.", "co?!", "U.S.", "J.", "5.", "5,", "3.5", "-5", "...")]
    ['kota', 'co', 'U.S.', 'J.', '5.', '5', '3.5', '-5', '...']
    >>> removable("kota;", {".", ","})
    'kota;'
    """
    word, run = split_mark(token)
    belongs = run[:1] == "." and run[1:2] != "." and _DOTTED.fullmatch(word)
    return token if not word or belongs or label(run) not in known else word


def apart(words: list[str], marks: list[str] | None) -> tuple[list[str], list[str] | None]:
    """Words and marks for a format that keeps the two apart: marks at the ends of words become marks behind them.

    Only where a word has no mark of its own yet, what it ends in is one of `MARKS`, and that is no part of it
    (`removable`).

    >>> apart(["tak,", "w", "U.S.", "co?!", "nie"], ["", "", "", "", "."])
    (['tak', 'w', 'U.S.', 'co?!', 'nie'], [',', '', '', '', '.'])
    """
    if not any_marked(words):
        return words, marks
    bare, labels = [], []
    for word, mark in zip(words, marks or [""] * len(words), strict=True):
        stem = word if mark else removable(word, MARKS)
        run = word[len(stem) :].translate(_SPELLINGS)
        bare.append(stem if run in MARKS else word)
        labels.append(run if run in MARKS else mark)
    return bare, labels if any(labels) else marks


@dataclass(frozen=True, slots=True)
class Typography:
    """How the mark `-` is printed for readers: as a joined hyphen or as a spaced dash.

    The mark stands for a compound (``polsko-rosyjskie``), a range (``23-25``) and a dash (``powiedział – dodał``).
    A range has digits on both sides; a compound has a first part that the training text joined (`joined_parts`,
    lower case); all else is a dash, whose sign is the language's (`dash`, from its feature file).
    """

    joined_parts: frozenset[str] = frozenset()
    dash: str = "–"

    def separators(self, words: Sequence[str], marks: Sequence[str]) -> list[str]:
        """What stands behind each word: its mark and the space to the next word (none behind the last).

        >>> polish = Typography(frozenset({"polsko"}))
        >>> polish.separators("polsko rosyjskie tak powiedział".split(), ["-", "-", ",", "."])
        ['-', ' – ', ', ', '.']
        """
        last = len(words) - 1
        separators = [mark + " " if i < last else mark for i, mark in enumerate(marks)]
        for i, mark in enumerate(marks):
            if mark != "-":
                continue
            if i == last:
                separators[i] = f" {self.dash}"
            elif self._joins(words[i], words[i + 1]):
                separators[i] = "-"
            else:
                separators[i] = f" {self.dash} "
        return separators

    def _joins(self, word: str, following: str) -> bool:
        if word[-1:].isdigit() and following[:1].isdigit():
            return True
        return word.lower() in self.joined_parts
