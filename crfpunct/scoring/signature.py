"""What a score was computed with: kept as a structure, printed as one line, never read back.

The idea is sacreBLEU's (Post 2018): a number without everything that changes it cannot be compared. Values may hold any
character (`:` is one of our marks), and so nothing here or elsewhere parses a signature.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from crfpunct import __version__


@dataclass(frozen=True, slots=True)
class Signature:
    """A metric's name, the options that change the number, and what it was computed on.

    options: (name, value) pairs in the order in which they are printed.
    sampling: the same for how intervals and tests were drawn, empty where nothing was.
    documents: number of documents scored.
    reference: SHA-256 of the reference (see `fingerprint`), of which 12 digits are printed.
    """

    metric: str
    options: tuple[tuple[str, str], ...]
    sampling: tuple[tuple[str, str], ...]
    documents: int
    reference: str
    version: str = __version__

    def fields(self) -> dict[str, str]:
        """All of it as ordered names and values, the version last."""
        return {"metric": self.metric, **dict(self.options), **dict(self._shared())}

    def own(self) -> str:
        """The part that tells this score from another one of the same run: the metric and its options."""
        return "|".join([self.metric, *(f"{name}:{value}" for name, value in self.options)])

    def shared(self) -> str:
        """The part that all scores of a run have in common: sampling, documents, reference, version."""
        return "|".join(f"{name}:{value}" for name, value in self._shared())

    def _shared(self) -> list[tuple[str, str]]:
        return [
            *self.sampling,
            ("documents", str(self.documents)),
            ("reference", self.reference[:12]),
            ("crfpunct", self.version),
        ]

    def __str__(self) -> str:
        """One line: ``metric|name:value|…|crfpunct:version``."""
        return f"{self.own()}|{self.shared()}"


def fingerprint(lines: Iterable[str]) -> str:
    """The SHA-256, in hexadecimal, of lines in UTF-8, each ended by ``\\n``.

    For a plain file without byte-order mark and ``\\r`` it is what ``sha256sum`` prints.

    >>> fingerprint(["ala ma kota."])[:12]
    'dc8c56cf4d62'
    """
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()
