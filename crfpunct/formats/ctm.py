"""CTM, the NIST format of Kaldi and sclite: ``file channel start duration word [confidence …]`` a line, in seconds.

https://github.com/usnistgov/SCTK/blob/master/doc/infmts.htm. A document is a run of lines of one file and channel.
``;;`` begins a comment. Of alternatives (``<ALT_BEGIN>`` … ``<ALT>`` … ``<ALT_END>``) the first is the text. Others,
comments, and words in angle brackets such as ``<eps>`` (but ``<unk>``) come back as they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO, TextIO

import numpy as np

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.files import decode
from crfpunct.formats.places import Place, Places, fill, glued, of
from crfpunct.formats.subtitles import interpolated
from crfpunct.formats.text import BYTE_ORDER_MARK
from crfpunct.marks import Typography

_FIELD = re.compile(r"[^ \t\n\r\v\f]+")
_ALTERNATIVES = {"<ALT_BEGIN>": 1, "<ALT>": 2, "<ALT_END>": 0}


def read(stream: BinaryIO, source: str) -> Iterator[Document]:
    """Yield one document a run of lines of one file and channel; its id is `file`, or `file channel` (not A or 1)."""
    lines: list[str] = []
    size = 0
    words: list[str] = []
    places: list[Place] = []
    times: list[tuple[int, int]] = []
    key: tuple[str, str] | None = None
    start_line = 1
    alternative = 0  # 0: none, 1: the first of several, 2: a later one

    def document() -> Document:
        file, channel = key or ("", "")
        return Document(
            f"{file} {channel}" if channel not in ("", "A", "1") else file,
            words,
            np.array(times, dtype=np.int64).reshape(-1, 2),
            source=f"{source}:{start_line}",
            layout=Places("ctm", "".join(lines), tuple(words), places),
        )

    for number, raw in enumerate(stream, 1):
        where = f"{source}:{number}"
        line = decode(raw, where)
        text = " " + line[1:] if number == 1 and line[0] == BYTE_ORDER_MARK else line
        fields = [] if text.lstrip(" ").startswith(";;") else list(_FIELD.finditer(text))
        if fields:
            if len(fields) < 5:
                raise CorpusError(
                    f"{where}: {len(fields)} fields, expected file channel start duration word; mend the line."
                )
            file, channel, start, duration, word = (field[0] for field in fields[:5])
            if key is not None and (file, channel) != key:
                yield document()
                lines, size, words, places, times, start_line = [], 0, [], [], [], number
            key = file, channel
            if word.upper() in _ALTERNATIVES:
                alternative = _ALTERNATIVES[word.upper()]
            elif alternative < 2 and (word[0] + word[-1] != "<>" or word.lower() == "<unk>"):
                times.append(_times(start, duration, where))
                places.append(Place(size + fields[4].start(), size + fields[4].end(), len(words)))
                words.append(word)
        lines.append(line)
        size += len(line)
    if lines:
        yield document()


def _times(start: str, duration: str, where: str) -> tuple[int, int]:
    try:
        seconds = float(start), float(duration)
    except ValueError:
        seconds = (math.nan, math.nan)
    if not all(math.isfinite(value) and 0 <= value < 1e6 for value in seconds):
        raise CorpusError(
            f"{where}: start {start[:60]!r} and duration {duration[:60]!r}, expected seconds of at least 0; "
            f"mend the line."
        )
    return round(seconds[0] * 1000), round((seconds[0] + seconds[1]) * 1000)


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:  # noqa: ARG001
    """Write the lines as they were, with marks behind words; in those of other formats some words must have times."""
    for number, document in enumerate(documents, 1):
        if layout := of(document, "ctm"):
            out.write(fill(layout, document, glued(document)))
            continue
        name = "_".join(document.id.split()) or str(number)
        times = interpolated(document).tolist()
        marks = document.marks or [""] * len(document.words)
        for word, mark, (start, end) in zip(document.words, marks, times, strict=True):
            out.write(f"{name} A {start / 1000:.3f} {max(0, end - start) / 1000:.3f} {word}{mark}\n")


def sniff(head: bytes) -> bool:
    """The first line that is no comment has a third and a fourth field in seconds."""
    for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:50]:
        if line.strip() and not line.startswith(b";;"):
            return bool(re.match(rb"\s*\S+\s+\S+\s+(\d[\d.]*\s+\d[\d.]*\s+\S|\*\s+\*\s+<ALT)", line))
    return False
