"""The pages of docs/ that are made from the code are up to date, and the examples in docstrings are true.

python tests/test_reference.py    # writes docs/commands.md and docs/reference.md
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
import typer.main

import crfpunct
from crfpunct.cli.app import app

DOCS = Path(__file__).resolve().parents[1] / "docs"
WIDTH = 100

#: What the Python reference is about: a heading, a sentence, and the public names by module, in the order of use.
PUBLIC: list[tuple[str, str, dict[str, list[str]]]] = [
    (
        "Restoring",
        "What most programs need.",
        {"crfpunct": ["load", "Restorer", "Document"], "crfpunct.stream": ["Stream", "CasedStream"]},
    ),
    (
        "Files",
        "Formats are named as in [formats](formats.md); every reader yields Documents and every writer takes them.",
        {
            "crfpunct.formats": ["read", "read_punctuated", "write", "identify", "names"],
            "crfpunct.formats.clntmstmp": ["Times"],
            "crfpunct.marks": ["Typography", "strip", "attach"],
        },
    ),
    (
        "Training",
        "scikit-learn estimators: `fit`, `predict`, `score`, `get_params`, `clone`, usable in `GridSearchCV`. "
        "`crfpunct train` builds on them; [training](training.md) tells how.",
        {"crfpunct.estimators": ["PunctuationCRF", "TruecasingCRF", "Progress"]},
    ),
    (
        "Scoring",
        "What `crfpunct evaluate` and `crfpunct compare` print, as numbers; [evaluation](evaluation.md) defines them.",
        {
            "crfpunct.scoring.texts": ["Text", "read", "Pair", "pair"],
            "crfpunct.scoring.evaluation": [
                "evaluate",
                "Evaluation",
                "Score",
                "Sampling",
                "PolevalResult",
                "MarksResult",
                "CaseResult",
                "WordsResult",
            ],
            "crfpunct.scoring.counts": ["LabelScore"],
            "crfpunct.scoring.comparison": ["compare", "Comparison", "MetricComparison"],
        },
    ),
    (
        "Explaining",
        "What `crfpunct explain` prints; [explanations](explain.md) has an example.",
        {"crfpunct.explanation": ["explain_marks", "explain_case", "Explained", "Decision", "Reason"]},
    ),
    (
        "Many files",
        "[Performance](performance.md#several-cores-several-machines) has an example.",
        {"crfpunct.parallel": ["each", "loaded", "LineTagger", "tag_lines"]},
    ),
    (
        "Errors",
        "",
        {"crfpunct.errors": ["CrfpunctError", "CorpusError", "TemplateError", "ModelError", "BackendError"]},
    ),
]


def commands_page() -> str:
    """docs/commands.md: the help of every command."""
    page = f"# Commands\n\nWhat `crfpunct COMMAND --help` prints on a terminal of {WIDTH} columns.\n"
    group = typer.main.get_command(app)
    top = group.context_class(group, info_name="crfpunct", terminal_width=WIDTH - 2, **group.context_settings)
    for context in (top, *(c.context_class(c, info_name=n, parent=top) for n, c in group.commands.items())):
        page += f"\n## {context.command_path}\n\n```text\n{context.get_help()}\n```\n"
    return page


def reference_page() -> str:
    """docs/reference.md: the docstrings of the public names."""
    page = (
        "# Python reference\n\nMade from the docstrings. What is not named here may change between versions. Shapes: T "
        "words of a document, D documents,\nL labels. Whatever goes wrong with the data is a `CrfpunctError` whose "
        "message is one line.\n"
    )
    for heading, about, names in PUBLIC:
        page += f"\n## {heading}\n" + ("\n" + textwrap.fill(about, 120) + "\n" if about else "")
        for module, its in names.items():
            page += "".join(part for name in its for part in _entry(module, name))
    return page


def _entry(module: str, name: str) -> Iterator[str]:
    described = getattr(importlib.import_module(module), name)
    yield f"\n### {module}.{name}\n\n"
    if not (inspect.isclass(described) and issubclass(described, Exception)):
        yield _code(name, described)
    yield _text(described)
    if inspect.isclass(described):
        for attribute, member in _members(described):
            title = f"{name}.{attribute}"
            if isinstance(member, (property, cached_property)):
                yield f"\n`{title}`\n\n{_text(member)}"
            else:
                yield "\n" + _code(title, getattr(described, attribute)) + _text(member)


def _members(described: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that the package itself defines, in the order of the source."""
    own = [base for base in reversed(described.__mro__) if base.__module__.startswith("crfpunct")]
    members = {name: member for base in own for name, member in vars(base).items()}
    kinds = (FunctionType, property, cached_property, classmethod, staticmethod)  # not what scikit-learn adds
    for name, member in members.items():
        if not name.startswith("_") and isinstance(member, kinds):
            yield name, member


def _code(name: str, function: Callable[..., Any]) -> str:
    """The signature as a block of code, one parameter a line where it is long."""
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.name != "self"]
    signature = signature.replace(parameters=parameters)
    if inspect.isclass(function):
        signature = signature.replace(return_annotation=signature.empty)
    shown = re.sub(r"(: |-> )'([^']*)'", r"\1\2", f"{name}{signature}")
    if len(shown) > WIDTH:
        lines = re.sub(r"(: |-> )'([^']*)'", r"\1\2", "\n".join(_lines(signature)))
        ending = shown[shown.rindex(")") :]
        shown = f"{name}(\n{lines}\n{ending}"
    return f"```python\n{shown}\n```\n\n"


def _lines(signature: inspect.Signature) -> Iterator[str]:
    keyword_only = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "    *,"
        yield f"    {parameter},"


def _text(described: Any) -> str:
    """A docstring as Markdown: its examples as code, lines such as `words: ...` as a list."""
    shown: list[str] = []
    docstring = inspect.getdoc(described)
    assert docstring, f"{described} is public and has no docstring"
    for paragraph in docstring.split("\n\n"):
        if paragraph.startswith(">>>"):
            paragraph = f"```pycon\n{paragraph}\n```"
        elif re.match(r"\w+(, \w+)*: \S", paragraph):
            paragraph = re.sub(r"(^|\. )(\w+(, \w+)*): ", r"\1\n- `\2`: ", paragraph, flags=re.MULTILINE)
            paragraph = re.sub(r" *\n+", "\n", paragraph.strip())
        shown.append(paragraph)
    return "\n\n".join(shown) + "\n"


PAGES = {"commands.md": commands_page, "reference.md": reference_page}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_made_from_the_code_is_up_to_date(name: str) -> None:
    shown = (DOCS / name).read_text(encoding="utf-8")
    assert shown == PAGES[name](), "run: python tests/test_reference.py"


def test_what_the_package_offers_is_in_the_reference() -> None:
    assert sorted(PUBLIC[0][2]["crfpunct"]) == sorted(crfpunct.__all__)


MODULES = ["crfpunct", *(module.name for module in pkgutil.walk_packages(crfpunct.__path__, "crfpunct."))]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
