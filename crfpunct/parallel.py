"""Many files, or the shards of a big one, in several processes.

joblib does the work: over processes of this machine (loky) unless the caller has chosen another of its backends
(`joblib.parallel_config("dask")`, "ray", "threading"). Results come in the order of what they are results of. A model
travels by its name and is loaded once in each worker.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import signal
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from crfpunct import formats
from crfpunct.errors import CorpusError, CrfpunctError
from crfpunct.formats.promise import Promise
from crfpunct.restorer import Restorer, load

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Bytes of a shard, about 600,000 words: seconds of work, so that handing it over costs nothing.
SHARD_BYTES = 1 << 22


@functools.lru_cache(maxsize=1)
def loaded(model: str, bias: tuple[tuple[str, float], ...] = ()) -> Restorer:
    """The model of this name or folder, its marks biased; a process that asks for it again gets the same."""
    return load(model).with_bias(dict(bias)) if bias else load(model)


def each(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Generator[Result | CrfpunctError, None, None]:
    """What `work` gives for each item, in order, worked out by `jobs` processes (-1: as many as there are cores).

    An item for which `work` raises CrfpunctError has that error as its result, and the others go on. Any other
    exception, and Ctrl-C, ends all. `work`, the items and the results are pickled.
    """
    if jobs == 1:
        for item in items:
            yield _outcome(work, item, os.getpid(), os.getcwd())
        return
    import joblib

    generator = joblib.parallel.get_active_backend()[0].supports_return_generator
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator" if generator else "list", pre_dispatch="2 * n_jobs")
    results = parallel(joblib.delayed(_outcome)(work, item, os.getpid(), os.getcwd()) for item in items)
    try:
        for result in results:  # noqa: UP028  `yield from` would close at once what is closed below
            yield result
    finally:
        if generator:
            with warnings.catch_warnings():
                # Whoever stops early knows that what was under way is lost.
                warnings.simplefilter("ignore", UserWarning)
                results.close()


def _outcome(work: Callable[[Item], Result], item: Item, parent: int, folder: str) -> Result | CrfpunctError:
    if os.getpid() != parent:
        # joblib keeps its workers; one that was started earlier may still stand where its parent stood then. On
        # another machine of a cluster the folder need not be there.
        with contextlib.suppress(OSError):
            os.chdir(folder)
    if os.getpid() != parent and threading.current_thread() is threading.main_thread():
        # Ctrl-C reaches all processes of a terminal; the parent says it, and ends its workers.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return work(item)
    except CrfpunctError as error:
        return error
    except OSError as error:  # a file that the machine will not let us read is that item's trouble alone
        return CorpusError(f"{error.filename or item}: {error.strerror or error}.")


# ---------------------------------------------------------------- shards of one file


@dataclass(frozen=True, slots=True)
class Shard:
    """The lines of a file from one byte up to another."""

    path: str
    start: int
    end: int


def shards(path: str | Path, size: int = SHARD_BYTES) -> Iterator[Shard]:
    """Cut a file into shards of about `size` bytes that end where a line ends."""
    with open(path, "rb") as stream:
        end = stream.seek(0, os.SEEK_END)
        start = 0
        while start < end:
            stream.seek(start + size - 1)
            stream.readline()
            cut = min(stream.tell(), end)
            yield Shard(str(path), start, cut)
            start = cut


@dataclass(frozen=True, slots=True)
class LineTagger:
    """Tags shards of plain text, a document a line; the result is plain text, UTF-8. Options as for `Restorer.tag`."""

    model: str
    punct: bool = True
    case: bool = True
    replace_marks: bool = False
    keep_case: bool = False
    bias: tuple[tuple[str, float], ...] = ()

    def __call__(self, shard: Shard) -> bytes:
        with open(shard.path, "rb") as stream:
            stream.seek(shard.start)
            lines = io.BytesIO(stream.read(shard.end - shard.start))
        restorer = loaded(self.model, self.bias)
        out = io.StringIO(newline="")
        promise = Promise()
        documents = promise.remember(formats.module("text").read(lines, shard.path))
        tagged = restorer.tag(
            documents,
            punct=self.punct,
            case=self.case,
            replace_marks=self.replace_marks,
            keep_case=self.keep_case,
        )
        formats.write(promise.check(tagged), out, "text", restorer.typography)
        return out.getvalue().encode()


def tag_lines(path: str | Path, tagger: LineTagger, jobs: int, out: BinaryIO, size: int = SHARD_BYTES) -> None:
    """Tag a file of plain text, a document a line, shard by shard in `jobs` processes; writes to `out` in order.

    CorpusError names the line of the file that is bad, as reading it in one piece does; the shards before are written.
    """
    with contextlib.closing(each(tagger, shards(path, size), jobs)) as results:
        for result in results:
            if isinstance(result, CrfpunctError):
                raise _with_line(path, result)
            out.write(result)


def _with_line(path: str | Path, error: CrfpunctError) -> CrfpunctError:
    # A shard counts its lines from its own first one, so the file is read again, from its beginning, to the bad line.
    try:
        with open(path, "rb") as stream:
            for _ in formats.module("text").read(stream, str(path)):
                pass
    except CrfpunctError as found:
        return found
    return error
