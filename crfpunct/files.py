"""Bytes in and out: compressed inputs, strict UTF-8, outputs that are whole or not there at all."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import lzma
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from crfpunct.errors import CorpusError

STDIO = "-"
_OPENERS = {".gz": gzip.open, ".tgz": gzip.open, ".xz": lzma.open, ".txz": lzma.open}

#: The first bytes of files that are no text.
_SIGNATURES = {
    b"\x1f\x8b": "gzip data",
    b"\xfd7zXZ\0": "xz data",
    b"BZh91AY&SY": "bzip2 data",
    b"\x28\xb5\x2f\xfd": "zstd data",
    b"PK\x03\x04": "a zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"%PDF-": "a PDF",
}


@contextlib.contextmanager
def open_input(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file (`.gz` and `.xz` are read as they are) or, for `-`, standard input, as bytes.

    Raises CorpusError where the file is missing, is a folder, cannot be read, or is damaged as an archive.
    """
    if str(path) == STDIO:
        if sys.stdin is None:
            raise CorpusError("-: there is no standard input; name a file.")
        yield sys.stdin.buffer
        return
    path = Path(path)
    if path.suffix.lower() == ".gz" and path.is_file() and not path.stat().st_size:
        raise CorpusError(f"{path}: damaged .gz file (it is empty); fetch or compress it again.")
    opener = _OPENERS.get(path.suffix.lower(), open)
    try:
        stream: BinaryIO = opener(path, "rb")  # type: ignore[operator]
    except FileNotFoundError as error:
        raise CorpusError(f"{path}: no such file; check the path.") from error
    except IsADirectoryError as error:
        raise CorpusError(f"{path}: is a folder, expected a file; name one of the files in it.") from error
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions.") from error
    try:
        with stream:
            yield stream
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError) as error:
        raise CorpusError(f"{path}: damaged {path.suffix} file ({error}); fetch or compress it again.") from error


def printable(path: str | Path) -> str:
    """A file's name for reports: bytes of it that are not UTF-8 are escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def check_name(path: str | Path) -> None:
    """Raise CorpusError for an empty name, which would be that of the current folder."""
    if not str(path):
        raise CorpusError("the input has an empty name; name a file, or - for standard input.")


def signature(head: bytes) -> str:
    """What a file is whose first bytes are those of an archive or a PDF; empty for anything else.

    >>> signature(b"PK\\x03\\x04..."), signature(b"ala ma kota")
    ('a zip archive', '')
    """
    return next((kind for start, kind in _SIGNATURES.items() if head.startswith(start)), "")


def check_text(head: bytes, where: str) -> None:
    """Raise CorpusError where the first bytes of a file show that it is no UTF-8 text."""
    zeros = head.count(0)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "UTF-16"
    elif zeros > len(head) // 8 and zeros in (head[::2].count(0), head[1::2].count(0)):
        encoding = "UTF-16LE" if head[1::2].count(0) else "UTF-16BE"  # ASCII characters have their zeros on one side
    elif kind := signature(head) or ("a file of many NUL bytes" if zeros > len(head) // 8 else ""):
        raise CorpusError(f"{where}: is {kind}, expected text as UTF-8; unpack it or name the text itself.")
    else:
        return
    raise CorpusError(f"{where}: is {encoding}, expected UTF-8; convert it with iconv -f {encoding} -t UTF-8.")


def read_lines(stream: BinaryIO, source: str) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text) without line ends; a byte-order mark is dropped.

    Lines end at ``\\n`` or ``\\r\\n`` only, so that characters such as U+2028 or a lone ``\\r`` stay inside their line.
    Raises CorpusError, naming the line and the byte, where a line is not UTF-8.
    """
    for number, raw in enumerate(stream, 1):
        raw = raw.removesuffix(b"\n").removesuffix(b"\r")
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        yield number, decode(raw, f"{source}:{number}")


def decode(raw: bytes, where: str) -> str:
    """The text of UTF-8 bytes; CorpusError names the first byte that is not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        check_text(raw, where)
        raise CorpusError(
            f"{where}: byte {error.start + 1} (0x{raw[error.start]:02x}) is not UTF-8; "
            f"convert the file, for example with iconv -f WINDOWS-1250 -t UTF-8."
        ) from error


def unpacked(raw: bytes, name: str) -> bytes:
    """The bytes of a file that is compressed if its name ends in .gz or .xz; CorpusError where it is damaged."""
    try:
        return {".gz": gzip.decompress, ".xz": lzma.decompress}.get(Path(name).suffix.lower(), bytes)(raw)
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError) as error:
        raise CorpusError(f"{name}: damaged {Path(name).suffix} file ({error}); fetch or compress it again.") from error


@contextlib.contextmanager
def open_output(path: str | Path, scratch: Path | None = None) -> Iterator[TextIO]:
    """Open a text output: standard output for `-`, else a temporary file that takes the name when all went well.

    A file whose name ends in .gz or .xz is compressed. After an exception there is no output, and a file that stood
    there before is as it was. scratch: where the temporary file stands if it is a folder in the output's (see
    `scratch_folder`); else it stands beside the output.
    """
    if str(path) == STDIO:
        if sys.stdout is None:
            raise CorpusError("-: there is no standard output; name a file with --output.")
        # newline="" everywhere: the writers decide about line ends.
        sys.stdout.reconfigure(encoding="utf-8", newline="")  # type: ignore[union-attr]
        yield sys.stdout
        sys.stdout.flush()
        return
    if not str(path):
        raise CorpusError("the output has an empty name; name a file.")
    given, path = path, Path(os.path.realpath(path))  # a link stays, and what it points at is replaced
    if path.is_dir():
        raise CorpusError(f"{given}: is a folder, expected the name of a file to write; add one.")
    if path.exists() and not path.is_file():
        # A device or a named pipe is written to; a file of its name in its place would destroy it.
        with open(path, "w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    try:
        folder = scratch if scratch is not None and scratch.parent == path.parent else path.parent
        # A part of the name alone, since names may not be longer than 255 bytes.
        handle, name = tempfile.mkstemp(dir=folder, prefix=f".{path.name[:40]}.", suffix=".part")
    except OSError as error:
        raise CorpusError(f"{given}: cannot be written ({error.strerror}); check the folder.") from error
    try:
        with (
            open(handle, "wb") as raw,
            _packing(raw, path.suffix.lower()) as packed,
            io.TextIOWrapper(packed, encoding="utf-8", newline="") as stream,
        ):
            yield stream
        # mkstemp makes files that only their owner can read; what is replaced keeps who may read it.
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~umask())
        os.replace(name, path)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            error.filename = str(given)
        raise


def check_output(path: str | Path) -> None:
    """Raise CorpusError where `open_output` would, so that it is known before an hour of work; nothing is written."""
    with contextlib.suppress(_NotNeeded), open_output(path):
        raise _NotNeeded


class _NotNeeded(Exception):
    """Leaves `open_output` without any output."""


@contextlib.contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """A folder for the temporary files of processes that may be killed, which is gone afterwards with all in it."""
    try:
        scratch = tempfile.mkdtemp(dir=os.path.realpath(folder), prefix=".crfpunct.", suffix=".part")
    except OSError as error:
        raise CorpusError(f"{folder}: cannot be written to ({error.strerror}); check the folder.") from error
    try:
        yield Path(scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _packing(raw: BinaryIO, suffix: str) -> BinaryIO:
    """Where to write what is to stand in `raw` as the suffix says; the same bytes give the same file."""
    if suffix == ".xz":
        return lzma.LZMAFile(raw, "wb", preset=9 | lzma.PRESET_EXTREME)  # type: ignore[return-value]
    if suffix == ".gz":
        return gzip.GzipFile("", "wb", fileobj=raw, mtime=0)  # type: ignore[return-value]
    return raw


def umask() -> int:
    """The permissions that new files of this process do not get; it can be read only by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
