"""Standard input that may stay open: lines as soon as they come, and whether the next one is there."""

from __future__ import annotations

import io
import os
import select
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterator

_CHUNK = 1 << 16
_HEAD_BYTES = 1 << 13


class Pipe:
    """A pipe or a terminal, read line by line; what the readers of formats need of a binary stream.

    before_waiting is called whenever the next byte has to be waited for, so that what was written so far can be
    flushed, as C's stdio does.
    """

    def __init__(self, descriptor: int, before_waiting: Callable[[], object]) -> None:
        self._descriptor = descriptor
        self._before_waiting = before_waiting
        self._lines: deque[bytes] = deque()
        self._rest: list[bytes] = []  # of a line that is not yet there as a whole
        self._ended = False

    @staticmethod
    def of_standard_input(before_waiting: Callable[[], object]) -> Pipe | None:
        """Standard input, or None where it is a file (or nothing that the system knows) and nothing is to wait for."""
        try:
            descriptor = sys.stdin.fileno()
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
        except (AttributeError, OSError, ValueError, io.UnsupportedOperation):
            return None
        return Pipe(descriptor, before_waiting)

    def ready(self) -> bool:
        """Whether the next line, or the end, can be had without waiting."""
        while not self._lines and not self._ended and self._available():
            self._fill()
        return bool(self._lines) or self._ended

    def __iter__(self) -> Iterator[bytes]:
        while line := self.readline():
            yield line

    def readline(self) -> bytes:
        """The next line with its line end; empty at the end."""
        while not self._lines and not self._ended:
            self._fill()
        if self._lines:
            return self._lines.popleft()
        line = b"".join(self._rest)
        self._rest = []
        return line

    def read(self) -> bytes:
        """All up to the end."""
        return b"".join(self)

    def peek(self, size: int = _HEAD_BYTES) -> bytes:
        """The first bytes, a whole line at least unless it is longer; they stay unread.

        Brackets alone, as the first lines of printed JSON have them, say nothing yet, and more is waited for.
        """
        head = b"".join([*self._lines, *self._rest])
        while not self._ended and len(head) < size and (not self._lines or _only_brackets(head)):
            self._fill()
            head = b"".join([*self._lines, *self._rest])
        return head[:size]

    def chunks(self) -> Iterator[bytes]:
        """Bytes as they come, whether lines or not."""
        while not self._ended or self._lines or self._rest:
            chunk = b"".join([*self._lines, *self._rest])
            self._lines.clear()
            self._rest = []
            if chunk:
                yield chunk
            elif not self._ended:
                self._fill()

    def _available(self) -> bool:
        try:
            return bool(select.select([self._descriptor], [], [], 0)[0])
        except (OSError, ValueError):  # Windows asks sockets only: then every line is answered on its own
            return False

    def _fill(self) -> None:
        if not self._available():
            self._before_waiting()
        chunk = os.read(self._descriptor, _CHUNK)
        self._ended = not chunk
        first, *others = chunk.split(b"\n")
        self._rest.append(first)
        if others:
            self._lines.append(b"".join(self._rest) + b"\n")
            self._lines.extend(line + b"\n" for line in others[:-1])
            self._rest = [others[-1]]


def _only_brackets(head: bytes) -> bool:
    return bool(head.strip()) and not head.strip(b"[{ \t\r\n")
