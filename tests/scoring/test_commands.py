"""`evaluate` and `compare` as a user meets them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from crfpunct.cli import main, notes
from crfpunct.cli.scoring import Metric
from crfpunct.scoring.metrics import METRICS


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], files: Path):  # type: ignore[no-untyped-def]
    """Run the program in the folder of `files`: (exit code, stdout, stderr)."""
    monkeypatch.chdir(files)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["crfpunct", *arguments])
        monkeypatch.setattr(notes, "quiet", False)
        code = 0
        try:
            main()
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_the_metrics_of_the_command_are_those_of_the_library() -> None:
    assert [metric.value for metric in Metric] == list(METRICS)


def test_three_systems_with_one_command(run) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run("compare", "reference.txt", "far.txt", "near.txt", "Our best=same.txt", "--trials", "200")
    assert (code, err) == (0, "")
    assert "3 systems against reference.txt" in out
    assert "Our best" in out
    assert "100.00" in out


@pytest.mark.parametrize("to", ["table", "json", "md", "latex", "html"])
def test_every_output_of_both_commands(run, files: Path, to: str) -> None:  # type: ignore[no-untyped-def]
    for command in (["evaluate", "reference.txt", "near.txt", "--task", "all"],
                    ["compare", "reference.txt", "near.txt", "far.txt"]):  # fmt: skip
        code, out, _ = run(*command, "--to", to, "--trials", "20")
        assert code == 0
        assert len(out) > 500
        code, empty, _ = run(*command, "--to", to, "--trials", "20", "--output", "written")
        assert (code, empty) == (0, "")
        assert (files / "written").read_text(encoding="utf-8") == out


def test_every_metric_puts_the_better_system_first(run) -> None:  # type: ignore[no-untyped-def]
    arguments = [argument for metric in METRICS for argument in ("--metric", metric)]
    code, out, _ = run("compare", "reference.txt", "far.txt", "same.txt", *arguments, "--trials", "50", "--to", "json")
    assert code == 0
    for metric in json.loads(out)["metrics"]:
        worse, better = metric["scores"]
        assert better == (100 if metric["higher_is_better"] else 0), metric["metric"]
        assert better > worse if metric["higher_is_better"] else better < worse or metric["metric"] == "wer"


def test_a_task_has_the_tables_it_asks_for(run) -> None:  # type: ignore[no-untyped-def]
    for task, present in (
        ("punct", {"poleval", "marks"}),
        ("case", {"case"}),
        ("wer", {"wer"}),
        ("all", {"poleval", "marks", "case", "wer"}),
    ):
        _, out, _ = run("evaluate", "reference.txt", "near.txt", "--task", task, "--to", "json", "--trials", "10")
        parsed = json.loads(out)
        assert {key for key in ("poleval", "marks", "iwslt", "case", "wer") if parsed[key]} == present
    _, out, _ = run("evaluate", "reference.txt", "near.txt", "--scheme", "iwslt", "--trials", "10")
    assert "PERIOD" in out
    assert "PolEval" not in out


def test_the_seed_and_nothing_else_changes_intervals(run) -> None:  # type: ignore[no-untyped-def]
    command = ["evaluate", "reference.txt", "near.txt", "--trials", "50", "--to", "json"]
    first, second, third = (run(*command, "--seed", seed)[1] for seed in ("1", "1", "2"))
    assert first == second
    scores = [json.loads(out)["poleval"]["scores"]["rule:all"] for out in (first, third)]
    assert scores[0]["value"] == scores[1]["value"]
    assert scores[0]["interval"] != scores[1]["interval"]
    assert scores[0]["signature"]["seed"] == "1"


def test_other_words_are_named_and_scored_all_the_same(run) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run("evaluate", "reference.txt", "other.txt", "--trials", "10")
    assert code == 0
    assert "Marks over aligned words" in out
    assert err.startswith("crfpunct: other.txt:1: ")
    assert "tokens, but reference.txt:1 has 30; first difference at token" in err
    assert "so all marks behind the first difference count as wrong there" in err
    assert "% of the reference's words)" in err
    code, _, err = run("-q", "evaluate", "reference.txt", "other.txt", "--trials", "10")
    assert (code, err) == (0, "")


def test_a_different_number_of_documents_is_bad_data_but_scored(run, files: Path) -> None:  # type: ignore[no-untyped-def]
    text = (files / "near.txt").read_text(encoding="utf-8")
    (files / "short.txt").write_text(text.split("\n", 1)[1], encoding="utf-8")
    code, out, err = run("evaluate", "reference.txt", "short.txt", "--trials", "10", "--to", "json")
    assert code == 1
    assert err.splitlines()[-1] == (
        "crfpunct: short.txt: 11 documents, but reference.txt has 12; what stands from reference.txt:12 on has no "
        "partner. Give one document of output for each of the reference."
    )
    parsed = json.loads(out)
    assert parsed["poleval"]["scores"]["rule:geval"]["value"] is None
    assert parsed["poleval"]["scores"]["rule:all"]["value"] is not None
    code, out, err = run("compare", "reference.txt", "near.txt", "short.txt")
    assert (code, out) == (1, "")
    assert "short.txt: 11 documents, but reference.txt has 12; a test swaps documents between systems" in err


def test_a_leading_mark_leaves_the_rule_of_the_tool_undefined(run, files: Path) -> None:  # type: ignore[no-untyped-def]
    text = (files / "near.txt").read_text(encoding="utf-8")
    (files / "lead.txt").write_text(",dom " + text, encoding="utf-8")
    code, out, err = run("evaluate", "reference.txt", "lead.txt", "--trials", "10")
    assert code == 0
    assert "begins with a mark; the task's own tool stops there, so rule:geval is undefined" in err
    assert re.search(r"rule:geval\) +– +– ", out)


def test_equal_systems_and_a_single_document(run, files: Path) -> None:  # type: ignore[no-untyped-def]
    _, out, _ = run("compare", "reference.txt", "near.txt", "near.txt", "--trials", "100")
    assert "1.00" in out
    assert "No difference is significant at 0.05 (1 test)." in out
    for name in ("reference", "near", "far"):
        line = (files / f"{name}.txt").read_text(encoding="utf-8").split("\n")[0]
        (files / f"{name}-1.txt").write_text(line + "\n", encoding="utf-8")
    code, out, err = run("compare", "reference-1.txt", "near-1.txt", "far-1.txt")
    assert code == 0
    assert "One document only: no intervals and no test, since both come from swapped and resampled documents" in err
    assert "–" in out
    _, _, err = run("evaluate", "reference-1.txt", "near-1.txt")
    assert "One document only: no intervals" in err


def test_few_documents_are_said_to_be_few(run, files: Path) -> None:  # type: ignore[no-untyped-def]
    for name in ("reference", "near", "far"):
        text = (files / f"{name}.txt").read_text(encoding="utf-8").split("\n")[:3]
        (files / f"{name}-3.txt").write_text("\n".join(text) + "\n", encoding="utf-8")
    _, _, err = run("compare", "reference-3.txt", "near-3.txt", "far-3.txt", "--trials", "50")
    assert "3 documents only: of the 8 ways to swap them" in err


def test_wrong_usage_is_exit_code_2(run) -> None:  # type: ignore[no-untyped-def]
    for arguments in (
        ["evaluate", "-", "-"],
        ["evaluate", "reference.txt"],
        ["evaluate", "reference.txt", "near.txt", "--task", "everything"],
        ["compare", "reference.txt", "near.txt"],
        ["compare", "reference.txt", "near.txt", "far.txt", "--metric", "bleu"],
        ["compare", "reference.txt", "near.txt", "far.txt", "--trials", "0"],
    ):
        assert run(*arguments)[0] == 2


def test_an_output_is_whole_or_not_there(run, files: Path) -> None:  # type: ignore[no-untyped-def]
    code, _, err = run("evaluate", "reference.txt", "near.txt", "--output", "nowhere/out.txt")
    assert code == 1
    assert "nowhere/out.txt: cannot be written" in err
    (files / "empty.txt").write_text("")
    (files / "out.txt").write_text("before")
    assert run("evaluate", "reference.txt", "empty.txt", "--output", "out.txt")[0] == 1
    assert (files / "out.txt").read_text() == "before"


def test_two_systems_of_one_name_are_told_apart_or_refused(run, files: Path) -> None:  # type: ignore[no-untyped-def]
    for systems in (("A=near.txt", "A=far.txt"), ("near.txt", "near=far.txt")):
        code, out, err = run("compare", "reference.txt", *systems)
        assert (code, out) == (2, "")
        assert re.search(r"two systems have the name '(A|near)'; give one another name, as NAME=FILE", err)
    (files / "b").mkdir()
    (files / "b" / "near.txt").write_text((files / "far.txt").read_text(encoding="utf-8"), encoding="utf-8")
    _, out, _ = run("compare", "reference.txt", "near.txt", "b/near.txt", "--trials", "10", "--to", "json")
    assert [system["name"] for system in json.loads(out)["systems"]] == ["near.txt", "b/near.txt"]
