"""Transcript formats: every reader yields Documents and every writer takes them.

One module a format, imported when it is first used. A format module has ``read(stream, source)``,
``write(documents, out, typography)`` and ``sniff(head)``; both directions stream, document by document.
A writer that gets documents which its own reader made (`Document.layout`) gives their structure back.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Protocol, TextIO, cast

import numpy as np

from crfpunct import marks
from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.files import STDIO, check_name, check_text, open_input
from crfpunct.formats.pipe import Pipe
from crfpunct.marks import Typography

_HEAD_BYTES = 1 << 13  # what a format is guessed from
_COMPRESSED = (".gz", ".xz")
_POLEVAL_INPUT = "in.tsv"
_POLEVAL_GOLD = "expected.tsv"
#: Other formats of transcripts and texts, whose own signs would be taken for words.
_FOREIGN = (".ass", ".ssa", ".sub", ".ttml", ".dfxp", ".xml", ".html", ".sbv", ".lrc", ".stm", ".trn", ".textgrid")
_WITH_OPTIONS = ("conll",)
_PLAIN_TEXT = ("text", "paragraphs", "sentences", "wikipunct", "poleval2022")  # as they are written


@dataclass(frozen=True, slots=True)
class Format:
    """Where a format's code stands, the suffixes that suggest it, and one line about it."""

    module: str
    suffixes: tuple[str, ...]
    about: str


#: In the order in which contents are tried; where none fits, the last format with the suffix is taken.
FORMATS: dict[str, Format] = {
    "clntmstmp": Format("clntmstmp", (".clntmstmp",), "forced alignment, a `(start,end) word` a line"),
    "vtt": Format("vtt", (".vtt",), "WebVTT subtitles"),
    "srt": Format("srt", (".srt",), "SubRip subtitles"),
    "ctm": Format("ctm", (".ctm",), "Kaldi and sclite: file channel start duration word"),
    "poleval2022": Format("poleval2022", (".tsv",), "audio TAB segment TAB word:start-end; out: a text a line"),
    "conll": Format(
        "conll", (".conll", ".tsv"), "word TAB label, blank lines between documents; also conll:WORD,LABEL"
    ),
    "aligned": Format("aligned", (".nlp",), "pipe tables of token, ts, endTs, punctuation, case"),
    "tags": Format("tags", (".jsonl", ".json"), "JSON lines of tokens and tags (O, B-., B-,)"),
    "words-json": Format("words_json", (".json", ".jsonl"), "JSON of words with punctuation and space_after"),
    "vosk": Format("vosk", (".json", ".jsonl"), "results of Vosk, one after the other"),
    "jsonl": Format("jsonl", (".jsonl",), "JSON lines of words with start, end and mark"),
    "whisper": Format("whisper", (".json",), "JSON of Whisper, whisperX, whisper-timestamped and others"),
    "wikipunct": Format("wikipunct", (".tsv",), "id TAB text; out: a text a line, marks glued to words"),
    "paragraphs": Format("paragraphs", (), "plain text, paragraphs between blank lines"),
    "sentences": Format("sentences", (), "out only: plain text, a sentence a line"),
    "text": Format("text", (".txt",), "plain text, a document a line"),
}


class Module(Protocol):
    """What a format module offers."""

    def read(self, stream: BinaryIO, source: str, *options: str) -> Iterator[Document]: ...

    def write(self, documents: Iterable[Document], out: TextIO, typography: Typography) -> None: ...

    def sniff(self, head: bytes) -> bool: ...


def names() -> tuple[str, ...]:
    """The formats' names, as `--from` and `--to` take them."""
    return tuple(FORMATS)


def module(name: str) -> Module:
    """The code of a format; CorpusError where there is none of that name. Options behind a colon are for `read`."""
    name, _, options = name.partition(":")
    if name not in FORMATS or (options and name not in _WITH_OPTIONS):
        raise CorpusError(f"unknown format {name + _ + options!r}; the formats are {', '.join(FORMATS)}.")
    return cast(Module, importlib.import_module(f"{__name__}.{FORMATS[name].module}"))


def guess(path: str | Path, head: bytes) -> str:
    """The format of a file from its suffix and, where that leaves several or none, its first bytes.

    Plain text is what is left when no other format knows its own.
    """
    if (suffix := Path(path).suffix.lower()) in _FOREIGN:
        raise CorpusError(
            f"{path}: files of the kind {suffix} are not read; convert it, for example to .srt, or add --from text "
            f"if it is plain text."
        )
    candidates = _with_suffix(path)
    if len(candidates) == 1:
        return candidates[0]
    for known in candidates or FORMATS:
        if module(known).sniff(head):
            return known
    return candidates[-1] if candidates else "text"


def identify(path: str | Path, stream: Pipe | None = None) -> str:
    """The format in which `read` would read a path; nothing of standard input is used up."""
    file = _files(path)[0]
    if str(file) != STDIO and os.path.exists(file) and not os.path.isfile(file):
        raise CorpusError(
            f"{file}: is no regular file, so its format cannot be found out beforehand; name it with --from, or use - "
            f"for standard input."
        )
    with _opened(file, stream) as opened:
        return guess(file, _peek(opened))


def _with_suffix(path: str | Path) -> list[str]:
    name = Path(path)
    suffix = (name.with_suffix("") if name.suffix.lower() in _COMPRESSED else name).suffix.lower()
    return [known for known, format in FORMATS.items() if suffix in format.suffixes]


def output_format(path: str | Path, format: str) -> str:
    """The format of what is written to a path when none is named: that of its suffix, else `format`, the input's.

    Every format that is written as plain text may stand in a `.txt`.
    """
    suggested = _with_suffix(path)
    base = format.partition(":")[0]
    if base in _PLAIN_TEXT and ("text" in suggested or "wikipunct" in suggested):
        return format
    if len(suggested) > 1 and base not in suggested:
        raise CorpusError(f"{path}: its suffix is that of {', '.join(suggested)}; choose one of them with --to.")
    if len(suggested) != 1 or suggested == [base]:
        return format
    return suggested[0]


def _peek(stream: BinaryIO) -> bytes:
    if hasattr(stream, "peek"):
        return cast(io.BufferedReader, stream).peek(_HEAD_BYTES)
    at = stream.tell()
    head = stream.read(_HEAD_BYTES)
    stream.seek(at)
    return head


@contextlib.contextmanager
def _opened(file: str | Path, stream: Pipe | None = None) -> Iterator[BinaryIO]:
    if stream is not None:
        yield cast(BinaryIO, stream)
        return
    try:
        with open_input(file) as opened:
            yield opened
    except zlib.error as error:
        raise CorpusError(f"{file}: damaged archive ({error}); fetch or compress it again.") from error


def read(path: str | Path, format: str | None = None, stream: Pipe | None = None) -> Iterator[Document]:
    """Yield the documents of a file, of `-` (standard input) or of a folder.

    A folder is read by its `in.tsv`, or is one of `.clntmstmp` files. Without `format` it is guessed. `stream` is what
    stands for standard input that may stay open.
    """
    for file in _files(path):
        with _opened(file, stream) as opened:
            head = _peek(opened)
            check_text(head, str(file))
            chosen = format or guess(file, head)
            options = chosen.partition(":")[2]
            yield from module(chosen).read(opened, str(file), *([options] if options else []))


def _files(path: str | Path) -> list[str | Path]:
    check_name(path)
    if str(path) == STDIO or not Path(path).is_dir():
        return [path]
    if (text := Path(path) / _POLEVAL_INPUT).exists():
        return [text]
    if alignments := sorted(Path(path).glob("*.clntmstmp")):
        return [*alignments]
    raise CorpusError(
        f"{path}: a folder with neither {_POLEVAL_INPUT} nor .clntmstmp files; name one of the files in it."
    )


def read_punctuated(path: str | Path, format: str | None = None) -> Iterator[Document]:
    """Yield documents of a punctuated text for training and scoring: bare words, and a label of `MARKS` each.

    Marks come from the format's own column where it has one, from `expected.tsv` in a WikiPunct folder, and
    off the ends of the words elsewhere. The documents keep no layout.
    """
    if str(path) != STDIO and (Path(path) / _POLEVAL_GOLD).exists():
        if format is None:
            with open_input(Path(path) / _POLEVAL_INPUT) as stream:
                format = "poleval2022" if module("poleval2022").sniff(stream.read(_HEAD_BYTES)) else "wikipunct"
        if read_corpus := getattr(module(format), "read_corpus", None):
            yield from read_corpus(Path(path))
            return
    for document in read(path, format):
        yield _labelled(document if document.marks is not None else _stripped(document))


def _stripped(document: Document) -> Document:
    words, runs = marks.strip(document.words)
    times = document.times_ms
    if times is not None and len(words) < len(document.words):
        times = times[np.array([bool(marks.split_mark(word)[0]) for word in document.words])]
    return replace(document, words=words, marks=runs, times_ms=times)


def _labelled(document: Document) -> Document:
    runs = document.marks or []
    labels = {run: marks.label(run) for run in set(runs)}
    return replace(document, marks=[labels[run] for run in runs], layout=None)


def write(documents: Iterable[Document], out: TextIO, format: str, typography: Typography) -> None:
    """Write documents, each as soon as it comes.

    Raises CorpusError, before anything of a document is written, where its words would not be read back as
    they are: a word that is empty or holds white space, or a mark that is none.
    """
    source = ""

    def promised() -> Iterator[Document]:
        nonlocal source
        for document in documents:
            source = document.source or document.id
            yield _promised(document)

    try:
        module(format).write(promised(), out, typography)
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"{source}: holds half a character ({error.object[error.start]!r}), which cannot be written as UTF-8; "
            f"the program that made the file cut it. Mend the file."
        ) from error


def _promised(document: Document) -> Document:
    document.check()
    words, joined = document.words, " ".join(document.words)
    # Scans in C, 60 ns a word: as many spaces as were joined, no other white space, no empty word.
    if words and (
        joined.count(" ") != len(words) - 1
        or "\n" in joined
        or "\t" in joined
        or "\r" in joined
        or "\v" in joined
        or "\f" in joined
        or not all(words)
    ):
        bad = next(word for word in words if not word or set(word) & set(" \t\n\r\v\f"))
        raise CorpusError(
            f"{document.source or document.id or 'document'}: the word {bad[:60]!r} would not be read back as it is; "
            "words are not empty and hold no white space."
        )
    for mark in set(document.marks or ()):
        if mark.strip(marks.MARK_CHARACTERS):
            raise CorpusError(
                f"{document.source or document.id or 'document'}: {mark[:60]!r} is no mark; "
                f"marks are made of {marks.MARK_CHARACTERS} only."
            )
    return document
