"""What docs/evaluation.md and docs/significance.md show is what the program prints."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from crfpunct.cli import main, notes
from crfpunct.scoring import poleval

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = DOCS / "examples" / "scoring"
BLOCKS = [
    (path.name, command, expected)
    for path in (DOCS / "evaluation.md", DOCS / "significance.md")
    for command, expected in re.findall(
        r"^```console\n\$ (crfpunct .*)\n((?:.*\n)*?)```$", path.read_text(encoding="utf-8"), re.MULTILINE
    )
]


def printed(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    monkeypatch.setattr(notes, "quiet", False)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    return without_version(capsys.readouterr().out)


def without_version(text: str) -> str:
    return re.sub(r"crfpunct:[^\s|`}]+", "crfpunct:…", text)


def test_there_is_something_to_run() -> None:
    assert len(BLOCKS) == 3


@pytest.mark.parametrize(("name", "command", "expected"), BLOCKS)
def test_blocks(
    name: str, command: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(command, monkeypatch, capsys) == without_version(expected), name


@pytest.mark.parametrize(("suffix", "to"), [("tex", "latex"), ("md", "md")])
def test_the_examples_of_a_comparison(
    suffix: str, to: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = (
        "crfpunct compare reference.txt Commas=commas.txt 'Text CRF=text-crf.txt' 'Pause CRF=pause-crf.txt' "
        f"--metric poleval --metric ser --to {to}"
    )
    assert printed(command, monkeypatch, capsys) == without_version(
        (EXAMPLES / f"compare.{suffix}").read_text(encoding="utf-8")
    )


def test_the_table_of_vectors() -> None:
    text = (DOCS / "evaluation.md").read_text(encoding="utf-8")
    vectors = re.findall(r"^\| `(.+?)` \| `(.+?)` \| (\d+) \|$", text, re.MULTILINE)
    assert len(vectors) == 9
    for reference, hypothesis, score in vectors:
        counted = poleval.counts([reference], [hypothesis])
        assert counted.weighted_f1("geval") == pytest.approx(float(score), abs=1e-9)


def test_the_keys_of_the_schema_are_those_of_the_example() -> None:
    text = (DOCS / "evaluation.md").read_text(encoding="utf-8")
    parsed = json.loads((EXAMPLES / "evaluate.json").read_text(encoding="utf-8"))

    def keys(value: object) -> set[str]:
        if isinstance(value, list):
            return set().union(*map(keys, value))
        if isinstance(value, dict):
            return {*value} | set().union(*map(keys, value.values()))
        return set()

    documented = set(re.findall(r"`([^`\s]+)`", text))
    free = set(poleval.LABELS) | set(poleval.MARK_OF_LABEL.values()) | {"name", "version", "metric", "support"}
    assert keys(parsed) - free <= documented


def test_the_python_example(capsys: pytest.CaptureFixture[str]) -> None:
    text = (DOCS / "evaluation.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out.startswith(
        "50.0 50.0\n[('COMMA', 100.0, 100.0, 100.0), ('FULLSTOP', nan, 0.0, 0.0)]"
    )
