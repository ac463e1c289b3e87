"""SubRip subtitles: cues of a number, a line ``hh:mm:ss,mmm --> hh:mm:ss,mmm``, and lines of text.

Read leniently, as players do: numbers may be missing or have gaps, a cue's text runs up to the next cue and may hold
blank lines. All but the words comes back byte for byte; see `subtitles` for what is a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import BinaryIO, TextIO

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.formats import subtitles
from crfpunct.formats.places import fill, printed
from crfpunct.formats.subtitles import Cues, Span
from crfpunct.marks import Typography

_ARROW_OF_TIMES = re.compile(r"[ \t]*-?[\d:.,]+[ \t]*-->")


def read(stream: BinaryIO, source: str) -> Iterator[Document]:
    """Yield the one document of a file; its id is the file's name."""
    raw, lines = subtitles.lines(stream, source)
    headers: list[tuple[int, int, int, int]] = []  # start, end in ms; first line of the header; first line of the text
    for i, line in enumerate(lines):
        where = f"{source}:{i + 1}"
        # An arrow may stand in a text, too: a timing line begins with a time.
        times = subtitles.timing(line.text, where) if _ARROW_OF_TIMES.match(line.text) else None
        if times:
            numbered = i > 0 and lines[i - 1].text.strip().isdecimal()
            headers.append((*times, i - numbered, i + 1))
    beyond = headers[0][2] if headers else len(lines)
    lead = [i for i, line in enumerate(lines[:beyond]) if line.text.strip()]
    # Stray numbers are let pass in front of a cue; in a file without cues they say less than other lines.
    if odd := [i for i in lead if not lines[i].text.strip().isdecimal()] or ([] if headers else lead):
        raise CorpusError(
            f"{source}:{odd[0] + 1}: found {lines[odd[0]].text.strip()[:60]!r} before any cue, "
            f"expected a number and a line start --> end; mend the file or name another format with --from."
        )
    spans = []
    for i, (start, end, _, first) in enumerate(headers):
        last = (headers[i + 1][2] if i + 1 < len(headers) else len(lines)) - 1
        if first <= last:
            spans.append(Span(start, end, lines[first].start, lines[last].end))
        else:
            spans.append(Span(start, end, len(raw), len(raw)))
    name = PurePath(source).name.partition(".")[0]
    yield subtitles.document("srt", raw, spans, name, f"{source}:1")


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:
    """Write a file back with its cues; documents of other formats get cues, numbered through."""
    number = 0
    for document in documents:
        layout = document.layout
        if isinstance(layout, Cues) and layout.places and layout.places.format == "srt":
            out.write(fill(layout.places, document, printed(document, typography)))
            continue
        cues = subtitles.cues_of(document)
        for cue, text in zip(cues, subtitles.texts(document, cues, typography), strict=True):
            number += 1
            times = f"{subtitles.clock(cue.start_ms, ',')} --> {subtitles.clock(cue.end_ms, ',')}"
            # Words such as `-->` with numbers around them would be taken for a line of times.
            escaped = subtitles.MARKUP.pattern.sub(_escaped, text).replace("-->", "--&gt;")
            out.write(f"{number}\n{times}\n{escaped}\n\n")


def _escaped(markup: re.Match[str]) -> str:
    """A word such as `<unk>` would be taken for a tag, by players and by `read`."""
    return {"<": "&lt;", "&": "&amp;", "{": "&#123;"}[markup[0][0]] + markup[0][1:]


def sniff(head: bytes) -> bool:
    """The first line that is not blank is a number with a timing line behind it, or such a line itself."""
    rows = [row.strip() for row in head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").splitlines()]
    rows = [row for row in rows if row][:2]
    if rows and rows[0].isdecimal():
        rows.pop(0)
    return bool(rows) and subtitles.TIMING.fullmatch(rows[0]) is not None
