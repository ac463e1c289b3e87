"""Vosk's JSON: results one after the other, each ``{"result": [{"word", "start", "end", "conf"}], "text"}``,
``{"partial": …}`` or ``{"alternatives": […]}``, on one line or over several.

Each result is a document, read and written as soon as it is complete. Of alternatives the first is the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, TextIO

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.formats.json_text import Text, View, markup, milliseconds, of_views, parse, timed, values
from crfpunct.formats.places import fill, of, printed, spelled
from crfpunct.formats.text import join
from crfpunct.marks import Typography


def read(stream: BinaryIO, source: str) -> Iterator[Document]:
    """Yield one document a result."""
    for line, raw in values(stream, source):
        data = parse(raw, source, line)
        where = f"{source}:{line}"
        if isinstance(data, dict) and isinstance(data.get("alternatives"), list) and data["alternatives"]:
            data = data["alternatives"][0]
        if not isinstance(data, dict) or {"text", "partial", "result"}.isdisjoint(data):
            raise CorpusError(
                f"{where}: JSON without text, partial or result, expected a result of Vosk; "
                f"name the format with --from."
            )
        spelling = markup(raw.isascii())
        texts = [(data[key], -1, -1) for key in ("text", "partial") if isinstance(data.get(key), Text)]
        words: list[tuple[Text, int, int]] = [
            (entry["word"], milliseconds(entry.get("start")), milliseconds(entry.get("end")))
            for key in ("result", "partial_result")
            for entry in data.get(key) or ()
            if isinstance(entry, dict) and isinstance(entry.get("word"), Text)
        ]
        views = [View(raw, spelling, strings) for strings in (texts[:1], words) if strings]
        document = of_views("vosk", raw, views or [View(raw, spelling, [])], spelling, "", where)
        document.language = language if isinstance(language := data.get("language"), str) else ""
        yield document


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:
    """Write results as they were; those of other formats as one line each."""
    for document in documents:
        if layout := of(document, "vosk"):
            out.write(fill(layout, document, printed(document, typography)))
            continue
        data: dict[str, Any] = {}
        if document.times_ms is not None:
            data["result"] = timed(document, spelled(document, typography))
        data["text"] = join(document.words, document.marks, typography)
        out.write(json.dumps(data, ensure_ascii=False) + "\n")


def sniff(head: bytes) -> bool:
    """An object that begins with one of Vosk's keys; `text` first is Whisper's, unless the object ends behind it."""
    start = b"".join(head.removeprefix(b"\xef\xbb\xbf").split())
    if start.startswith(b'{"text":"'):
        return start[9:].partition(b'"')[2][:1] == b"}"
    return start.startswith((b'{"result":[', b'{"partial":', b'{"partial_result":', b'{"alternatives":['))
