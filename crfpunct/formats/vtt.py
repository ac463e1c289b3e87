"""WebVTT subtitles (https://www.w3.org/TR/webvtt1/): a header, then blocks between blank lines:
cues, ``NOTE``, ``STYLE`` and ``REGION``.

A cue has an optional id, a line ``start --> end settings``, and text with tags (voices, classes, karaoke time stamps).
All but the words comes back byte for byte; see `subtitles` for what is a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import BinaryIO, TextIO

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.formats import subtitles
from crfpunct.formats.places import fill, printed
from crfpunct.formats.subtitles import Cues, Span
from crfpunct.marks import Typography


def read(stream: BinaryIO, source: str) -> Iterator[Document]:
    """Yield the one document of a file; its id is the file's name."""
    raw, lines = subtitles.lines(stream, source)
    if not lines or lines[0].text.split(" ")[0].split("\t")[0] != "WEBVTT":
        raise CorpusError(
            f"{source}:1: found {lines[0].text[:60] if lines else ''!r}, expected WEBVTT; "
            f"mend the file or name another format with --from."
        )
    spans: list[Span] = []
    cue: list[int] = []  # start, end in ms, line of its times
    in_cue = False
    block = 0  # lines since the last blank line; the header is a block
    skipped = True  # in the header or in a block that is no cue
    for i, line in enumerate(lines):
        if not line.text:  # a line of spaces is text; captions that roll up have such lines
            block, in_cue, skipped = 0, False, False
            continue
        block += 1
        if block == 1 and i > 0:
            skipped = line.text.split(" ")[0].split("\t")[0] in ("NOTE", "STYLE", "REGION")
        if skipped and not (not spans and block == i + 1 and subtitles.TIMING.fullmatch(line.text)):
            continue
        skipped = False  # a cue may follow the header without a blank line
        times = subtitles.timing(line.text, f"{source}:{i + 1}")
        if times:
            cue, in_cue = [*times, i], True
            spans.append(Span(*times, line.end, line.end))
        elif in_cue:
            first = lines[cue[2] + 1].start
            spans[-1] = Span(cue[0], cue[1], first, line.end)
    name = PurePath(source).name.partition(".")[0]
    yield subtitles.document("vtt", raw, spans, name, f"{source}:1")


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:
    """Write a file back with its cues; documents of other formats get cues."""
    begun = False
    for document in documents:
        layout = document.layout
        if isinstance(layout, Cues) and layout.places and layout.places.format == "vtt":
            out.write(fill(layout.places, document, printed(document, typography)))
            continue
        if not begun:
            out.write("WEBVTT\n")
            begun = True
        cues = subtitles.cues_of(document)
        for cue, text in zip(cues, subtitles.texts(document, cues, typography), strict=True):
            escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("{\\", "&#123;\\")
            out.write(f"\n{subtitles.clock(cue.start_ms, '.')} --> {subtitles.clock(cue.end_ms, '.')}\n{escaped}\n")


def sniff(head: bytes) -> bool:
    """The file begins with WEBVTT."""
    return head.removeprefix(b"\xef\xbb\xbf").startswith(b"WEBVTT")
