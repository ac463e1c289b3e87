"""The examples in the docstrings of scoring and report are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import crfpunct.report
import crfpunct.scoring

MODULES = [
    module.name
    for package in (crfpunct.scoring, crfpunct.report)
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
