"""JSON whose strings know where they stand in the raw text, so that words in them can be replaced in their places."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.files import decode
from crfpunct.formats.places import Markup, Place, Places, Token, keys, pairs, tokens

_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.")

# A string that does not end goes on to the end of its line: to look for its end from each quote would take forever.
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]')


def _meaning(escape: str) -> str:
    # Half of a surrogate pair alone is no character and could not be written anywhere.
    character: str = json.loads(f'"{escape}"')
    return "\ufffd" if "\ud800" <= character <= "\udfff" else character


def markup(ascii_only: bool) -> Markup:
    """Escapes of JSON strings; new characters are escaped as the file's own are, or those that they replace."""

    def encode(text: str, piece: str) -> str:
        return json.dumps(text, ensure_ascii=ascii_only or piece[:2] == "\\u")[1:-1]

    return Markup(_ESCAPE, _meaning, encode)


class Text(str):
    """A string of a JSON text; its literal is raw[start:end] without the quotes."""

    __slots__ = ("end", "start")
    start: int
    end: int


def _string(raw: str, begin: int, strict: bool = True) -> tuple[Text, int]:
    value, after = json.decoder.scanstring(raw, begin, strict)  # type: ignore[attr-defined]
    text = Text(value)
    text.start, text.end = begin, after - 1
    return text, after


class _Decoder(json.JSONDecoder):
    def __init__(self) -> None:
        super().__init__()
        self.parse_string = _string
        self.scan_once = py_make_scanner(self)  # the C scanner would not call it


_decoder = _Decoder()


def parse(raw: str, source: str, line: int = 1) -> Any:
    """The value of a JSON text, with `Text` for strings; CorpusError names the place of a mistake."""
    start = _space(raw, 1 if raw[:1] == "\ufeff" else 0)
    if start == len(raw):
        raise CorpusError(f"{source}: nothing in it, expected JSON; check how the file was made.")
    try:
        value, end = _decoder.raw_decode(raw, start)
    except json.JSONDecodeError as error:
        raise CorpusError(
            f"{source}:{line + error.lineno - 1}: broken JSON at column {error.colno} "
            f"({error.msg}); the file may be cut off."
        ) from error
    except RecursionError as error:
        raise CorpusError(f"{source}:{line}: JSON nested too deep; this is no transcript.") from error
    except ValueError as error:
        raise CorpusError(f"{source}:{line}: JSON with a number of thousands of digits; mend the file.") from error
    if _space(raw, end) < len(raw):
        number = line + raw.count("\n", 0, _space(raw, end))
        raise CorpusError(f"{source}:{number}: text behind the JSON value; expected one value.")
    return value


def _space(raw: str, at: int) -> int:
    while at < len(raw) and raw[at] in " \t\n\r":
        at += 1
    return at


def values(stream: BinaryIO, source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, raw text) of the JSON values that stand one after the other, each as soon as it is complete.

    A raw text holds the white space up to the next value. Values may run over lines (as Vosk prints them). Of a stream
    that may stay open (`Pipe`), white space that has not come yet is left for the next value.
    """
    ready = getattr(stream, "ready", None)
    held: list[str] = []
    start = 0  # line on which the held value begins; 0: only white space is held
    depth = 0  # of brackets; a value is complete where they are closed
    for number, raw in enumerate(stream, 1):
        line = decode(raw, f"{source}:{number}")
        if line.strip(" \t\r\n\ufeff"):
            if start and depth <= 0:
                yield start, "".join(held)
                held, start, depth = [], 0, 0
            start = start or number
        held.append(line)
        for found in _STRING_OR_BRACKET.finditer(line):
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(found[0], 0)
        if ready and start and depth <= 0 and not ready():
            yield start, "".join(held)
            held, start, depth = [], 0, 0
    if start:
        yield start, "".join(held)


def milliseconds(value: Any) -> int:
    """Seconds of a file in ms; -1 where there is no number."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e9:
        return round(value * 1000)
    return -1


def timed(document: Document, words: Sequence[str]) -> list[dict[str, Any]]:
    """An object for each of a document's words, spelled as given, with the times that are known, in seconds."""
    times = [[-1, -1]] * len(words) if document.times_ms is None else document.times_ms.tolist()
    return [
        {"word": word} | {key: ms / 1000 for key, ms in zip(("start", "end"), row, strict=True) if ms >= 0}
        for word, row in zip(words, times, strict=True)
    ]


class View:
    """One spelling of a text in a file: strings one after the other, each with start and end in ms (-1: unknown).

    Each string is one or several words. In a list of words (`divided`) of which one after the first begins with a
    space, as OpenAI's do, strings are pieces of a text and may be parts of a word.
    """

    def __init__(
        self, raw: str, markup: Markup, strings: Sequence[tuple[Text, int, int]], divided: bool = False
    ) -> None:
        pieces = divided and any(text[:1] == " " for text, _, _ in strings[1:])
        self.words: list[str] = []
        self.times: list[list[int]] = []
        self.parts: list[list[Token]] = []  # the parts of each word
        open_end = False
        for text, start, end in strings:
            found = list(tokens(raw, text.start, text.end, markup))
            for i, token in enumerate(found):
                goes_on = pieces and open_end and i == 0 and token.start == text.start
                if goes_on:
                    self.words[-1] += token.word
                    self.parts[-1].append(token)
                    self.times[-1][1] = end if len(found) == 1 else -1
                else:
                    self.words.append(token.word)
                    self.parts.append([token])
                    # Of several words in one string the outer times are known only.
                    self.times.append([start if i == 0 else -1, end if i == len(found) - 1 else -1])
            open_end = found[-1].end == text.end if found else open_end and not text

    def places(self, same: Iterable[tuple[int, int]]) -> Iterator[Place]:
        """Where words of another view stand in this one, from the pairs (their index there, here)."""
        for there, here in same:
            offset = 0
            *parts, last = self.parts[here]
            for token in parts:
                yield Place(token.start, token.end, there, offset, False)
                offset += len(token.word)
            yield Place(last.start, last.end, there, offset)


def of_views(format: str, raw: str, views: Sequence[View], markup: Markup, id: str, source: str) -> Document:
    """The document of several views of one text: the words of the first, and the first known times of any.

    Raises CorpusError for a word that ends before it starts.
    """
    words = views[0].words
    times: NDArray[np.int64] = np.full((len(words), 2), -1, dtype=np.int64)
    of_words = keys(words)
    places: list[Place] = []
    # Lists of words know more about times than texts do, so the first view's times come last.
    for view in (*views[1:], views[0]):
        same = pairs(of_words, keys(view.words))
        if same:
            ours, theirs = np.array(same).T
            given = np.array(view.times, dtype=np.int64)[theirs]
            if (backward := _backward(given)).any():
                i = int(backward.argmax())
                raise CorpusError(
                    f'{source}: the word "{words[ours[i]]}" (number {ours[i] + 1}) ends at {given[i, 1]} ms, '
                    f"before it starts ({given[i, 0]} ms); mend the times."
                )
            filled = np.where(times[ours] < 0, given, times[ours])
            # A segment may end a little before its last word does.
            times[ours] = np.where(_backward(filled)[:, None], times[ours], filled)
        places += view.places(same)
    places.sort()
    known = times if (times >= 0).any() else None
    return Document(id, words, known, source=source, layout=Places(format, raw, tuple(words), places, markup))


def _backward(times: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the rows (start, end) end before they start."""
    return (times[:, 1] < times[:, 0]) & (times[:, 1] >= 0)
