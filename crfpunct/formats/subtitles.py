"""What SRT and WebVTT share: cues, the words in them, and cues made for documents that have none.

A file is one document, since sentences run across cues. Without word times in the cues, the first word of a cue
has a start, the last one an end, and all other times are unknown: pauses are known at cue borders only.
Not words, and left as they are: tags, sounds in square brackets, musical notes, the dash or ``>>`` that begins a
speaker's line, and a label of capitals with a colon in front of a line (``JAN KOWALSKI: tak``).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.formats.places import Markup, Place, Places, Token, sentence_ends, tokens, whole
from crfpunct.marks import Typography

LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r|\Z)")
_TIME = r"(?:(\d{1,6}):)?(\d{1,2}):(\d{1,2})[,.](\d{1,3})"
TIMING = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}(?:[ \t]+.*)?")
_STAMP = re.compile(rf"<{_TIME}>")
_MARKUP = re.compile(r"</?[A-Za-z][^<>\r\n]*>|</?>|<[\d:.]+>|\{\\[^{}\r\n]*\}|&(?:[a-zA-Z]+|#\d+|#x[0-9a-fA-F]+);")


def _meaning(piece: str) -> str:
    if piece[0] != "&":
        return ""
    meant = html.unescape(piece)
    return piece if not meant.strip(" \t\n\r\v\f") else meant


MARKUP = Markup(_MARKUP, _meaning, lambda text, _: text)

_SPEAKER_SIGNS = {"-", "–", "—", ">>", ">>>"}
_NOTES = set("♪♫♬♩")
_LABEL_WORDS = 4  # "JAN MARIA ROKITA:" is a label, a whole sentence in capitals with a colon is not

#: Limits of cues made for reading, as guidelines for subtitles have them (Netflix: 42 characters, 2 lines, 7 s).
LINE_CHARACTERS = 42
LINES = 2
SECONDS = 7.0


class Cue(NamedTuple):
    """Words [first, beyond) of a document, shown from start to end."""

    start_ms: int
    end_ms: int
    first: int
    beyond: int


@dataclass(frozen=True, slots=True)
class Cues:
    """The layout of a document made of cues; `places` where they come from a subtitle file."""

    cues: list[Cue]
    places: Places | None = None


class Span(NamedTuple):
    """A cue's times and where its text stands in the file."""

    start_ms: int
    end_ms: int
    start: int
    end: int


class Line(NamedTuple):
    """A line's span in the file (its line end not included) and its text."""

    start: int
    end: int
    text: str


def lines(stream: BinaryIO, source: str) -> tuple[str, list[Line]]:
    """A whole file, and its lines (ended by CR LF, LF or CR)."""
    raw = whole(stream, source)
    found = [Line(line.start(1), line.end(1), line[1]) for line in LINE.finditer(raw) if line[0]]
    if found and found[0].text[:1] == "\ufeff":
        found[0] = Line(1, found[0].end, found[0].text[1:])
    return raw, found


def timing(line: str, where: str) -> tuple[int, int] | None:
    """Start and end in ms of a line `start --> end`, or None for a line without `-->`; CorpusError for a broken one."""
    if "-->" not in line:
        return None
    found = TIMING.fullmatch(line)
    if found is None:
        raise CorpusError(f"{where}: broken cue {line.strip()[:60]!r}, expected hours:minutes:seconds --> the same.")
    start, end = _ms(found.groups()[:4]), _ms(found.groups()[4:])
    if end < start:
        raise CorpusError(f"{where}: the cue ends at {end} ms, before it starts ({start} ms); mend its times.")
    return start, end


def _ms(parts: Sequence[str | None]) -> int:
    hours, minutes, seconds, fraction = parts
    whole = (int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    return whole * 1000 + int((fraction or "").ljust(3, "0"))


def document(format: str, raw: str, spans: Iterable[Span], id: str, source: str) -> Document:
    """The words of all cues, with the times that the cues give."""
    words: list[str] = []
    places: list[Place] = []
    times: list[list[int]] = []
    cues: list[Cue] = []
    rolling = _STAMP.search(raw) is not None
    shown: range = range(0)  # the words of the line before
    for span in spans:
        first = len(words)
        before = span.start
        for row in _rows(raw, span):
            if not row:
                continue
            again = rolling and [token.word for token in row] == words[shown.start : shown.stop]
            if again and not _STAMP.search(raw, row[0].start, row[-1].end):
                # Captions that roll up (YouTube's) show a line again without its time stamps: the same words.
                places += [Place(token.start, token.end, i) for token, i in zip(row, shown, strict=True)]
                before = row[-1].end
                continue
            for token in row:
                # A time stamp between two words is the start of the second (WebVTT karaoke).
                stamps = list(_STAMP.finditer(raw, before, token.start))
                times.append([_ms(stamps[-1].groups()) if stamps else -1, -1])
                places.append(Place(token.start, token.end, len(words)))
                words.append(token.word)
                before = token.end
            shown = range(len(words) - len(row), len(words))
        if len(words) > first:
            if times[first][0] < 0:
                times[first][0] = span.start_ms
            times[-1][1] = max(span.end_ms, times[-1][0])
        cues.append(Cue(span.start_ms, span.end_ms, first, len(words)))
    array = np.array(times, dtype=np.int64).reshape(-1, 2)
    layout = Cues(cues, Places(format, raw, tuple(words), places, MARKUP))
    return Document(id, words, array, source=source, layout=layout)


def _rows(raw: str, span: Span) -> Iterator[list[Token]]:
    """The words of each line of a cue."""
    for line in LINE.finditer(raw, span.start, span.end):
        row = list(tokens(raw, line.start(1), min(line.end(1), span.end), MARKUP))
        if row and row[0].word in _SPEAKER_SIGNS:
            row.pop(0)
        label = next((i for i, token in enumerate(row[:_LABEL_WORDS]) if token.word[-1] == ":"), None)
        # In a line all of capitals, these say nothing about the part in front of a colon.
        if label is not None and _capitals(row[: label + 1]) and not _capitals(row[label + 1 :]):
            row = row[label + 1 :]
        words: list[Token] = []
        closed = max((i for i, token in enumerate(row) if "]" in token.word), default=-1)
        inside = False
        for i, token in enumerate(row):
            if token.word[0] == "[" and i <= closed:
                inside = True
            if not inside and not set(token.word) <= _NOTES:
                words.append(token)
            if "]" in token.word:
                inside = False
        yield words


def _capitals(row: list[Token]) -> bool:
    return "".join(token.word for token in row).isupper()


def cues_of(document: Document) -> list[Cue]:
    """The cues that a document was read with, less those without words, or new ones for reading."""
    if isinstance(document.layout, Cues):
        return [cue for cue in document.layout.cues if cue.beyond > cue.first]
    return cut(document)


def resegmented(
    document: Document, characters: int = LINE_CHARACTERS, lines: int = LINES, seconds: float = SECONDS
) -> Document:
    """The document with new cues: they end with sentences and clauses where the limits allow it."""
    cues = cut(document, characters, lines, seconds)
    return replace(document, layout=Cues(cues))


def cut(
    document: Document, characters: int = LINE_CHARACTERS, lines: int = LINES, seconds: float = SECONDS
) -> list[Cue]:
    """Cut a document into cues of at most `lines` lines of `characters` and `seconds`.

    A sentence's end always ends a cue; else a clause's end behind the cue's first third, else the limit decides.
    """
    times = interpolated(document)
    marks = document.marks or [""] * len(document.words)
    texts = [word + mark for word, mark in zip(document.words, marks, strict=True)]
    ends = sentence_ends(document)
    cues: list[Cue] = []
    first = 0
    for i in range(len(texts)):
        while first < i and (
            len(wrap(" ".join(texts[first : i + 1]), characters)) > lines
            or times[i, 1] - times[first, 0] > seconds * 1000
        ):
            clauses = [k for k in range(first + (i - first) // 3, i) if texts[k][-1] in ",;:-–—"]
            beyond = (clauses[-1] if clauses else i - 1) + 1
            cues.append(_cue(times, first, beyond))
            first = beyond
        if ends[i]:
            cues.append(_cue(times, first, i + 1))
            first = i + 1
    if first < len(texts):
        cues.append(_cue(times, first, len(texts)))
    return cues


def _cue(times: NDArray[np.int64], first: int, beyond: int) -> Cue:
    start = int(times[first, 0])
    return Cue(start, max(start, int(times[beyond - 1, 1])), first, beyond)


def interpolated(document: Document) -> NDArray[np.int64]:
    """Times (T, 2), unknown ones interpolated by characters between known ones; CorpusError where none is known."""
    times = document.times_ms
    if times is None or (len(times) and not (times >= 0).any()):
        if not document.words:
            return np.empty((0, 2), dtype=np.int64)
        raise CorpusError(
            f"{document.source or document.id}: no word has a time, but subtitles and CTM need them; "
            f"give --times or choose another format with --to."
        )
    lengths = np.array([len(word) + 1 for word in document.words], dtype=np.int64)
    ends = np.cumsum(lengths)
    at = np.stack([ends - lengths, ends - 1], axis=1).reshape(-1)
    flat = times.reshape(-1)
    known = flat >= 0
    filled = np.interp(at, at[known], flat[known]) if known.any() else flat
    return np.where(known, flat, filled).astype(np.int64).reshape(-1, 2)


def wrap(text: str, characters: int = LINE_CHARACTERS) -> list[str]:
    """Lines of at most so many characters (a longer word has a line of its own); two lines are made about equal."""
    if len(text) <= characters:
        return [text]
    rows: list[str] = [""]
    for word in text.split(" "):
        if rows[-1] and len(rows[-1]) + 1 + len(word) > characters:
            rows.append(word)
        else:
            rows[-1] = f"{rows[-1]} {word}" if rows[-1] else word
    if len(rows) == 2:
        breaks = [i for i, character in enumerate(text) if character == " "]
        best = min(breaks, key=lambda i: abs(2 * i - len(text)))
        if max(best, len(text) - best - 1) <= characters:
            rows = [text[:best], text[best + 1 :]]
    return rows


def texts(document: Document, cues: Iterable[Cue], typography: Typography) -> Iterator[str]:
    """The text of each cue, in lines."""
    marks = document.marks or [""] * len(document.words)
    behind = typography.separators(document.words, marks)
    for cue in cues:
        pieces = [
            word + mark
            for word, mark in zip(document.words[cue.first : cue.beyond], behind[cue.first : cue.beyond], strict=True)
        ]
        yield "\n".join(wrap("".join(pieces).rstrip(" ")))


def clock(ms: int, point: str) -> str:
    """hours:minutes:seconds and the thousands."""
    seconds, thousandths = divmod(ms, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{point}{thousandths:03}"
