"""Punctuation and capitals for speech-recogniser output, with classical CRFs on a CPU.

>>> import crfpunct
>>> crfpunct.load("pl").restore("minister zapowiedział że rząd przyjmie ustawę jeśli poprze ją sejm")
'Minister zapowiedział, że rząd przyjmie ustawę, jeśli poprze ją Sejm.'
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"
__all__ = ["Document", "Restorer", "load"]

_WHERE = {"Document": "crfpunct.document", "Restorer": "crfpunct.restorer", "load": "crfpunct.restorer"}


def __getattr__(name: str) -> Any:
    # Imported on first use, so that `crfpunct --help` does not wait for numpy.
    if name in _WHERE:
        from importlib import import_module

        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
