"""What the documentation shows is what the program prints: every console block is run.

A block whose first line is a command with `crfpunct` in it and that shows output is run, command by command, and its
standard output compared; a comment `<!-- not run -->` on the line before leaves a block out. Commands run in a copy of
the repository's `docs/`, in the folder that the page names ("The examples … run in `docs/examples/`"), else at the top.

    python tests/test_docs.py docs/formats.md    # writes the true output into a page's blocks
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import crfpunct
from crfpunct import resources

ROOT = Path(__file__).resolve().parents[1]
ELSEWHERE = ("evaluation.md", "significance.md")  # run by tests/scoring/test_documents.py
LINKED = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "recipes").glob("*.md"))]
PAGES = [page for page in LINKED if page.name not in ELSEWHERE]
_BLOCK = re.compile(r"(?P<before>[^\n]*\n+)?```console\n(?P<text>\$ [^\n]*\bcrfpunct .*?)```", re.DOTALL)
_FOLDER = re.compile(r"\brun in\s+`([^`]+)`")
_NOT_RUN = "<!-- not run -->"


def blocks(page: Path) -> list[str]:
    """The console blocks of a page that are run."""
    found = _BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [block["text"] for block in found if _NOT_RUN not in (block["before"] or "")]


def commands(block: str) -> list[str]:
    """The commands of a block: lines that begin with `$ `, with their continuation lines."""
    return [found[1] for found in re.finditer(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)$", block, re.MULTILINE)]


def shows_output(block: str) -> bool:
    """Whether a block shows more than commands."""
    return block != "".join(f"$ {command}\n" for command in commands(block))


def folder_of(page: Path) -> str:
    """Where a page's commands run, relative to the repository."""
    found = _FOLDER.search(page.read_text(encoding="utf-8"))
    return found[1] if found else "."


def needs_model(block: str) -> bool:
    """Whether a block needs the shipped model."""
    options = set(block.split())
    if "crfpunct explain pl" in block:
        return True
    return "crfpunct tag" in block and "--model" not in options and not options >= {"--no-punct", "--no-case"}


def run(block: str, folder: Path) -> str:
    """The block with what its commands print on standard output."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment |= {"COLUMNS": "120", "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
    shown = ""
    for command in commands(block):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        output = done.stdout.decode()
        shown += f"$ {command}\n{output}" + ("\n" if output and not output.endswith("\n") else "")
    return shown


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the examples, so that commands may write files."""
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "docs", folder / "docs")
    return folder


EXAMPLES = [
    pytest.param(page, block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page), 1)
    if shows_output(block)
]


@pytest.mark.parametrize(("page", "block"), EXAMPLES)
def test_the_output_is_the_one_shown(page, block, copy):
    if needs_model(block) and "pl" not in resources.shipped("models"):
        pytest.skip("the model pl is not there")
    assert run(block, copy / folder_of(page)) == block


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_shows_its_results(page):
    """Blocks of Python with prompts are run as doctests, those of a page together."""
    found = re.findall(r"```python\n(>>> .*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    examples = doctest.DocTestParser().get_doctest("\n".join(found), {}, page.name, str(page), 0)
    assert doctest.DocTestRunner().run(examples).failed == 0


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links, as GitHub names them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        target, _, anchor = link.partition("#")
        if ":" in target:
            continue
        there = page.parent / target if target else page
        assert there.exists(), link
        assert not anchor or anchor in anchors(there), link


def test_the_version_to_cite_is_this_one():
    cited = re.search(r"version = \{([^}]*)\}", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert cited is not None
    assert cited[1] == crfpunct.__version__


def test_blocks_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "The examples run in `docs/a`.\n```console\n$ crfpunct a \\\n  b\nout\n$ crfpunct c\n```\n"
        "<!-- not run -->\n```console\n$ crfpunct train\n```\n```console\n$ python x\n```\n",
        encoding="utf-8",
    )
    [block] = blocks(page)
    assert commands(block) == ["crfpunct a \\\n  b", "crfpunct c"]
    assert folder_of(page) == "docs/a"
    assert shows_output(block)
    assert not shows_output("$ crfpunct a \\\n  b\n$ crfpunct c\n")


def _rewrite(page: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(ROOT / "docs", Path(name) / "docs")
        text = page.read_text(encoding="utf-8")
        for block in blocks(page):
            text = text.replace(block, run(block, Path(name) / folder_of(page)), 1)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        _rewrite(Path(argument))
