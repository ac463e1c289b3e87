"""Words in their places: how structured formats give a file back with nothing changed but the words' text.

A reader keeps a document's raw text and where each word stands in it, perhaps more than once (a Whisper file has
its words in the whole text, in the segments' texts and in lists of timed words). A writer copies the raw text and
puts restored words and their marks in those places, so that all else comes back byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from crfpunct.casing import caseless
from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.files import decode
from crfpunct.marks import Typography, split_mark

_PLAIN = re.compile(r"([ \t\n\r\v\f]+)|[^ \t\n\r\v\f]+")


class Markup(NamedTuple):
    """What in a raw text is not itself.

    pattern: finds pieces of markup. meaning: the characters that a piece stands for (`""` for a tag).
    encode: the inverse for new characters, which replace a piece (`""` where they are added).
    """

    pattern: re.Pattern[str]
    meaning: Callable[[str], str]
    encode: Callable[[str, str], str]


PLAIN = Markup(re.compile(r"(?!)"), str, lambda text, _: text)


class Token(NamedTuple):
    """A word in a raw text: its span there (with any markup inside it), and the word."""

    start: int
    end: int
    word: str


class Place(NamedTuple):
    """Where a word (or its characters from `offset` on) stands; its mark goes behind the `last` part of it."""

    start: int
    end: int
    word: int
    offset: int = 0
    last: bool = True


@dataclass(frozen=True, slots=True)
class Places:
    """A document's raw text in a format, its T words as they were read, and their places in ascending order.

    Layouts hold tuples of words, so that a change of `Document.words` in place does not go unnoticed.
    """

    format: str
    raw: str
    words: tuple[str, ...]
    places: list[Place]
    markup: Markup = PLAIN


def whole(stream: BinaryIO, source: str) -> str:
    """The text of a whole file; CorpusError names the line of the first byte that is not UTF-8."""
    raw = stream.read()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        start = raw.rfind(b"\n", 0, error.start) + 1
        return decode(raw[start : error.end], f"{source}:{raw.count(10, 0, start) + 1}")


def tokens(raw: str, start: int, end: int, markup: Markup = PLAIN) -> Iterator[Token]:
    """Yield what stands between ASCII white space in raw[start:end], less the tags at its edges.

    >>> [token.word for token in tokens("ala\\tma  kota", 0, 12)]
    ['ala', 'ma', 'kota']
    """
    first = last = -1
    word = ""
    for at, piece, meaning in _pieces(raw, start, end, markup):
        # Plain text stands for itself, character by character; a piece of markup is not divided.
        inside = piece == meaning
        for found in _PLAIN.finditer(meaning):
            if found[1]:
                if word:
                    yield Token(first, last, word)
                word = ""
                continue
            if not word:
                first = at + found.start() if inside else at
            last = at + (found.end() if inside else len(piece))
            word += found[0]
    if word:
        yield Token(first, last, word)


def _pieces(raw: str, start: int, end: int, markup: Markup) -> Iterator[tuple[int, str, str]]:
    at = start
    for found in markup.pattern.finditer(raw, start, end):
        if found.start() > at:
            yield at, raw[at : found.start()], raw[at : found.start()]
        yield found.start(), found[0], markup.meaning(found[0])
        at = found.end()
    if at < end:
        yield at, raw[at:end], raw[at:end]


def keys(words: Sequence[str]) -> list[str]:
    """What makes two words the same: they are compared case-blind and without the marks at their ends."""
    return [caseless(split_mark(word)[0]) for word in words]


def pairs(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs (our index, their index) of equal `keys`; where they differ, what a shortest edit leaves alone."""
    if ours == theirs:
        return [(i, i) for i in range(len(ours))]
    from rapidfuzz.distance import Levenshtein

    return [
        pair
        for block in Levenshtein.opcodes(ours, theirs)
        if block.tag == "equal"
        for pair in zip(range(block.src_start, block.src_end), range(block.dest_start, block.dest_end), strict=True)
    ]


def of(document: Document, format: str) -> Places | None:
    """The layout that a format's own reader gave a document, or None."""
    layout = document.layout
    return layout if isinstance(layout, Places) and layout.format == format else None


def glued(document: Document) -> list[str]:
    """What goes behind each word in formats for programs: its mark, never joined to the next word."""
    return [mark and mark + " " for mark in document.marks or [""] * len(document.words)]


def printed(document: Document, typography: Typography) -> list[str]:
    """What goes behind each word in formats for readers, the space to the next word included (see `Typography`)."""
    if document.marks is None:
        return [""] * len(document.words)
    return typography.separators(document.words, document.marks)


def spelled(document: Document, typography: Typography) -> list[str]:
    """The words with their marks for readers."""
    behind = printed(document, typography)
    return [word + mark.removesuffix(" ") for word, mark in zip(document.words, behind, strict=True)]


def sentence_ends(document: Document) -> list[bool]:
    """Whether a sentence ends behind each word.

    A dot that was on the word already (`np.`, `5.`) ends none before a word without capital, if the text has capitals.
    """
    words = document.words
    found = [word + mark for word, mark in zip(words, document.marks or [""] * len(words), strict=True)]
    ends = [token[-1] in ".?!…" for token in found]
    if any(word != word.lower() for word in words):
        for i in range(len(words) - 1):
            if ends[i] and found[i] == words[i] and found[i][-1] == "." and words[i + 1] == words[i + 1].lower():
                ends[i] = False
    return ends


def fill(places: Places, document: Document, behind: Sequence[str]) -> str:
    """The raw text with the document's words in their places and `behind` (from `glued` or `printed`) behind them.

    Raises CorpusError where the document has other words than were read: only case and marks at the end may differ.
    """
    check_same(places.words, document)
    raw, encode = places.raw, places.markup.encode
    out: list[str] = []
    at = 0
    for i, place in enumerate(places.places):
        word, mark = document.words[place.word], behind[place.word]
        spelled = raw[place.start : place.end]
        if word != places.words[place.word]:
            spelled = _respelled(spelled, word, place, places.markup)
        out += raw[at : place.start], spelled
        at = place.end
        if mark and place.last:
            out.append(encode(mark.removesuffix(" "), ""))
            following = places.places[i + 1].start if i + 1 < len(places.places) else at
            if mark == "-" and raw[at:following] == " ":  # a compound or a range: joined
                at = following
    out.append(raw[at:])
    return "".join(out)


def check_same(words: Sequence[str], document: Document) -> None:
    """The word promise: CorpusError unless the document's words are these but for case and marks at the end."""
    if list(words) == document.words:
        return
    if len(words) != len(document.words):
        raise CorpusError(
            f"{document.source or document.id}: {len(document.words)} words to write, but {len(words)} were read; "
            f"words are never added or taken away."
        )
    for old, new in zip(words, document.words, strict=True):
        if old != new and caseless(split_mark(old)[0]) != caseless(split_mark(new)[0]):
            raise CorpusError(
                f'{document.source or document.id}: "{new[:60]}" would be written for "{old[:60]}"; '
                f"words are never changed but for case and the marks behind them."
            )


def _respelled(raw: str, word: str, place: Place, markup: Markup) -> str:
    """The raw text of (a part of) a word with the new word's case and marks, and the markup inside it.

    Where a change of case changes the length (ß, SS), the characters stay as they are.
    """
    pieces = list(_pieces(raw, 0, len(raw), markup))
    old = "".join(meaning for _, _, meaning in pieces)
    if place.last:
        old, _ = split_mark(old)
    new, new_marks = split_mark(word)
    new = new[place.offset : place.offset + len(old)]
    if caseless(new) != caseless(old) or len(new) != len(old):
        new = old
    out: list[str] = []
    at = 0
    for _, piece, meaning in pieces:
        now = new[at : at + len(meaning)]
        at += len(meaning)
        out.append(piece if now == meaning else markup.encode(now, piece))
    if place.last:
        out[-1] += markup.encode(new_marks, "")
    return "".join(out)
