"""Whisper's JSON: one transcript a file, as OpenAI's program and API, whisperX, whisper-timestamped, faster-whisper,
whisper.cpp and the pipeline of Transformers write it.

The text is that of the segments (`segments`, `chunks`, `transcription`), else that of the timed words; the whole
`text`, `words` and `word_segments` get the same marks. A bare list of segments or of ``[word, start, end]`` will do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any, BinaryIO, TextIO

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.files import STDIO
from crfpunct.formats.json_text import Text, View, markup, milliseconds, of_views, parse, timed
from crfpunct.formats.places import fill, of, printed, spelled, whole
from crfpunct.formats.text import join
from crfpunct.marks import Typography

_Strings = list[tuple[Text, int, int]]


def read(stream: BinaryIO, source: str) -> Iterator[Document]:
    """Yield the one document of a file; its id is the file's name."""
    raw = whole(stream, source)
    data = parse(raw, source)
    spelling = markup(raw.isascii())
    views = [View(raw, spelling, strings, divided) for strings, divided in _views(data) if strings]
    if not views and not _known(data):
        shown = json.dumps(data)
        if isinstance(data, dict):
            shown = f"the keys {', '.join(data)}" if data else "no keys"
        raise CorpusError(
            f"{source}:1: JSON with {shown[:200]}, expected segments or words with times as Whisper writes them; "
            f"name another format with --from."
        )
    if not views:
        views = [View(raw, spelling, [])]
    id = "" if source == STDIO else PurePath(source).name.partition(".")[0]
    document = of_views("whisper", raw, views, spelling, id, f"{source}:1")
    document.language = _language(data)
    yield document


def _language(data: Any) -> str:
    """The language of a file; whisper.cpp has it in `result`."""
    stated = data.get("language") or data.get("result") if isinstance(data, dict) else ""
    stated = stated.get("language") if isinstance(stated, dict) else stated
    return stated if isinstance(stated, str) else ""


def _known(data: Any) -> bool:
    return data == [] or (
        isinstance(data, dict) and not {"text", "segments", "chunks", "transcription", "words"}.isdisjoint(data)
    )


def _views(data: Any) -> Iterator[tuple[_Strings, bool]]:
    """The spellings of the text in a file, the one that decides first; with each, whether it is a list of words."""
    whole = data if isinstance(data, dict) else {}
    segments = _dicts(whole.get("segments") or whole.get("chunks") or whole.get("transcription"))
    listed = _dicts(whole.get("words"))
    if isinstance(data, list):
        segments = _dicts(data)
        listed = [
            dict(zip(("word", "start", "end"), entry, strict=True))
            for entry in data
            if isinstance(entry, list) and len(entry) == 3
        ]
    yield _strings(segments), False
    yield _strings([word for segment in segments for word in _dicts(segment.get("words"))]), True
    yield _strings(listed), True
    yield _strings(_dicts(whole.get("word_segments"))), True
    yield _strings([whole]), False


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _strings(entries: Iterable[dict[str, Any]]) -> _Strings:
    strings = []
    for entry in entries:
        text = entry.get("word", entry.get("text"))
        start, end = entry.get("start"), entry.get("end")
        if isinstance(stamp := entry.get("timestamp"), list) and len(stamp) == 2:  # Transformers
            start, end = stamp
        if isinstance(offsets := entry.get("offsets"), dict):  # whisper.cpp, in ms
            start, end = [
                value / 1000 if isinstance(value, int) and abs(value) < _MOST_MS else None
                for value in (offsets.get("from"), offsets.get("to"))
            ]
        if isinstance(text, Text):
            strings.append((text, milliseconds(start), milliseconds(end)))
    return strings


_MOST_MS = 1 << 53  # what is more is no time


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:
    """Write a file's JSON back; documents of other formats become the segments of one file."""
    segments: list[dict[str, Any]] = []
    for document in documents:
        if layout := of(document, "whisper"):
            out.write(fill(layout, document, printed(document, typography)))
            continue
        segment: dict[str, Any] = {"id": len(segments), "text": join(document.words, document.marks, typography)}
        if document.words and document.times_ms is not None:
            words = timed(document, spelled(document, typography))
            segment |= {key: word[key] for key, word in (("start", words[0]), ("end", words[-1])) if key in word}
            segment["words"] = words
        segments.append(segment)
    if segments:
        text = " ".join(segment["text"] for segment in segments)
        json.dump({"text": text, "segments": segments}, out, ensure_ascii=False, indent=1)
        out.write("\n")


def sniff(head: bytes) -> bool:
    """An object that begins with one of Whisper's keys, or a list of segments or timed words."""
    start = b"".join(head.removeprefix(b"\xef\xbb\xbf").split())[:64]
    keys = b"text segments chunks language words word_segments systeminfo task duration".split()
    return start.startswith((*(b'{"' + key + b'"' for key in keys), b'[{"', b'[["'))
