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
    documents: number of documents scored.
    reference: first 12 hexadecimal digits of the SHA-256 of the reference (see `fingerprint`).
    """

    metric: str
    options: tuple[tuple[str, str], ...]
    documents: int
    reference: str
    version: str = __version__

    def fields(self) -> dict[str, str]:
        """All of it as ordered names and values, the version last."""
        return {
            "metric": self.metric,
            **dict(self.options),
            "documents": str(self.documents),
            "reference": self.reference,
            "crfpunct": self.version,
        }

    def __str__(self) -> str:
        """One line, as printed under a score: ``metric|name:value|…|crfpunct:version``."""
        fields = self.fields()
        metric = fields.pop("metric")
        return "|".join([metric, *(f"{name}:{value}" for name, value in fields.items())])


def fingerprint(lines: Iterable[str]) -> str:
    """The first 12 hexadecimal digits of the SHA-256 of lines in UTF-8, each ended by ``\\n``.

    For a plain file without byte-order mark and ``\\r`` it is what ``sha256sum`` prints.

    >>> fingerprint(["ala ma kota."])
    'dc8c56cf4d62'
    """
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()[:12]
