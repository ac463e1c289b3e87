"""What is printed: every output of one evaluation and one comparison, and that they say the same."""

from __future__ import annotations

import io
import json
import re
import sys
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from crfpunct.errors import BackendError
from crfpunct.report import cells, data, figures, markup, page, tables, terminal
from crfpunct.scoring import comparison, evaluation, poleval
from crfpunct.scoring.signature import Signature
from crfpunct.scoring.texts import Text, pair

Texts = dict[str, Text]


@pytest.fixture(scope="module")
def evaluated(texts: Texts) -> evaluation.Evaluation:
    return evaluation.evaluate(pair(texts["reference"], texts["other"]), "all", sampling=evaluation.Sampling(trials=50))


@pytest.fixture(scope="module")
def compared(texts: Texts) -> comparison.Comparison:
    far = Text.of(texts["far"].lines, "a_b & c|<d>.txt")
    sampling = evaluation.Sampling(trials=200)
    return comparison.compare(
        texts["reference"], [far, texts["near"], texts["other"]], ["poleval", "ser", "case-f1"], sampling
    )


def printed(write: Any, *arguments: Any) -> str:
    out = io.StringIO()
    write(*arguments, out)
    return out.getvalue()


def test_a_table_for_the_eye() -> None:
    reference, hypothesis = Text.of(["Ala ma kota, psa.", "Tak. Nie!"], "gold.txt"), Text.of(
        ["Ala ma kota psa.", "Tak, nie!"], "out.txt"
    )  # fmt: skip
    result = evaluation.evaluate(pair(reference, hypothesis), sampling=evaluation.Sampling(trials=20))
    text = printed(terminal.write, tables.evaluation_report(result))
    shown = [line for line in text.splitlines() if not re.search("average|rate|─", line)]
    assert re.sub(r"\[.*?\]", "[…]", "\n".join(shown[:4])).split("\n") == [
        "out.txt against gold.txt",
        "2 documents, 6 words",
        "",
        "Scores",
    ]
    assert "PolEval weighted F1 (rule:geval)   58.33" in text
    assert "PolEval weighted F1 (rule:all)     58.33" in text
    assert re.search(r"^,      comma +0\.00 +0\.00 +0\.00 +\[0\.00, 0\.00\] +0\.00 +1 +1$", text, re.MULTILINE)
    assert re.search(r"^\.      full stop +100\.00 +50\.00 +66\.67", text, re.MULTILINE)
    assert "each signature goes on: |interval:bootstrap-95|trials:20|seed:0|documents:2|reference:" in text


def test_words_that_differ_bring_the_table_over_aligned_words(texts: Texts) -> None:
    sampling = evaluation.Sampling(10)
    same, other = (
        tables.evaluation_report(evaluation.evaluate(pair(texts["reference"], texts[name]), sampling=sampling))
        for name in ("near", "other")
    )
    assert [table.name for table in same.tables] == ["scores", "poleval"]
    assert [table.name for table in other.tables] == ["scores", "poleval", "marks"]


def test_every_row_is_as_wide_as_its_table(evaluated: evaluation.Evaluation, compared: comparison.Comparison) -> None:
    reports = [tables.evaluation_report(evaluated, details=True), tables.comparison_report(compared)]
    names = [table.name for report in reports for table in report.tables]
    assert len(set(names)) == len(names)
    for report in reports:
        for table in report.tables:
            assert {len(row) for row in table.rows} == {len(table.columns)}, table.name


def test_an_undefined_score_is_a_dash_everywhere_and_null_in_json() -> None:
    reference, hypothesis = Text.of(["a b", "c"], "r"), Text.of(["a, b", "c"], "h")
    result = evaluation.evaluate(pair(reference, hypothesis), "all", sampling=evaluation.Sampling(trials=10))
    report = tables.evaluation_report(result, details=True)
    assert report.tables[0].rows[0][1:3] == ("–", "–")
    assert "nan" not in printed(terminal.write, report)
    assert "nan" not in printed(markup.write_latex, report)
    parsed = json.loads(printed(lambda out: data.write(data.evaluation_data(result), out)))
    assert parsed["poleval"]["scores"]["rule:all"]["value"] is None
    assert parsed["poleval"]["unweighted"] == {"COMMA": 1}
    assert any("no marks in it" in warning for warning in result.warnings)
    assert "nan" not in printed(lambda out: page.write_evaluation(result, report, out))


def test_json_holds_counts_from_which_every_score_follows(evaluated: evaluation.Evaluation) -> None:
    parsed = json.loads(printed(lambda out: data.write(data.evaluation_data(evaluated), out)))
    assert parsed["schema"] == {"name": "crfpunct-evaluation", "version": 1}
    assert set(parsed) == {
        "schema", "reference", "hypothesis", "documents", "word_errors", "sampling", "warnings",
        "poleval", "marks", "iwslt", "case", "wer",
    }  # fmt: skip
    labels = parsed["poleval"]["labels"]
    weights = np.array([label["reference"] for label in labels])
    for rule, scores in (("all", labels), ("geval", [label["geval"] for label in labels])):
        value = (weights * [score["f1"] for score in scores]).sum() / weights.sum()
        assert parsed["poleval"]["scores"][f"rule:{rule}"]["value"] == pytest.approx(value, rel=1e-12)
    signature = parsed["poleval"]["scores"]["rule:all"]["signature"]
    assert signature["metric"] == "poleval-weighted-f1"
    assert signature["reference"] == parsed["reference"]["sha256"][:12]
    confusion = np.array(parsed["marks"]["confusion"]["counts"])
    assert confusion[1:, :].sum() == parsed["marks"]["slots"]["reference"]
    for row in parsed["wer"]["rows"]:
        errors = row["substituted"] + row["deleted"] + row["inserted"]
        assert row["value"] == pytest.approx(100 * errors / row["tokens"], rel=1e-12)


def test_json_of_a_comparison(compared: comparison.Comparison) -> None:
    parsed = json.loads(printed(lambda out: data.write(data.comparison_data(compared), out)))
    assert parsed["schema"] == {"name": "crfpunct-comparison", "version": 1}
    assert [system["name"] for system in parsed["systems"]] == compared.names
    for metric in parsed["metrics"]:
        assert np.shape(metric["p"]) == np.shape(metric["p_holm"]) == (3, 3)
        assert np.shape(metric["difference_intervals"]) == (3, 3, 2)
        assert np.shape(metric["by_document"]) == (3, compared.documents)


def test_markdown_tables_have_one_width(evaluated: evaluation.Evaluation, compared: comparison.Comparison) -> None:
    for report in (tables.evaluation_report(evaluated, details=True), tables.comparison_report(compared)):
        text = printed(markup.write_markdown, report)
        for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(widths) == 1, block
        for signature in report.signatures:
            assert str(signature) in text or signature.own().replace("|", r"\|") in text


def test_latex_is_balanced_and_escaped(compared: comparison.Comparison) -> None:
    text = printed(markup.write_latex, tables.comparison_report(compared))
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    assert body.count(r"\begin{table}") == body.count(r"\end{table}") == 6
    assert r"a\_b \& c\textbar{}\textless{}d\textgreater{}" in body
    assert not re.search(r"(?<!\\)[%#_]|[–−…|<>]", body)
    plain = re.sub(r"\\[{}]", "", body)
    assert plain.count("{") == plain.count("}")
    for block in re.findall(r"\\begin{tabular}{(\w+)}(.*?)\\end{tabular}", body, re.DOTALL):
        rows = [row for row in block[1].split("\n") if row.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(block[0]) - 1}


class Page(HTMLParser):
    """Collects what a page refers to, and checks that its tags are balanced."""

    VOID = frozenset({"meta", "link", "br", "img", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in ("href", "xlink:href", "src"):
                self.references.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_page_needs_nothing_else(
    texts: Texts, evaluated: evaluation.Evaluation, compared: comparison.Comparison
) -> None:
    matched = pair(texts["reference"], texts["near"])
    iwslt = evaluation.evaluate(matched, scheme="iwslt", sampling=evaluation.Sampling(10))
    pages = [
        printed(page.write_evaluation, evaluated, tables.evaluation_report(evaluated, details=True)),
        printed(page.write_evaluation, iwslt, tables.evaluation_report(iwslt, details=True)),
        printed(page.write_comparison, compared, tables.comparison_report(compared)),
    ]
    for text in pages:
        parser = Page()
        parser.feed(text)
        assert parser.open == []
        assert len(set(parser.ids)) == len(parser.ids)
        assert all(reference.removeprefix("#") in parser.ids for reference in parser.references)
        assert not re.search(r"url\((?!#)|@import|<script|<img", text)
        svgs = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
        assert len(svgs) >= 2
        for svg in svgs:
            ElementTree.fromstring(svg)
        # Colours are the page's, so that it can be dark.
        assert not re.search(r"(?:fill|stroke): ?#", "".join(svgs))
    assert "a_b &amp; c|&lt;d&gt;" in pages[2]


def test_a_page_is_the_same_every_time(evaluated: evaluation.Evaluation) -> None:
    report = tables.evaluation_report(evaluated, details=True)
    assert printed(page.write_evaluation, evaluated, report) == printed(page.write_evaluation, evaluated, report)


def test_without_matplotlib_the_page_says_what_to_install(
    evaluated: evaluation.Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert evaluated.poleval is not None
    with pytest.raises(BackendError, match=r"matplotlib, which is not installed; run: pip install 'crfpunct\[plots\]'"):
        figures.label_bars(evaluated.poleval.rows, "bars")


def test_a_signature_is_printed_whole_and_in_two_parts() -> None:
    signature = Signature("f1", (("mark", ":"), ("x", "a|b")), (("trials", "10"),), 3, "0123456789abcdef", "1.2")
    assert str(signature) == "f1|mark::|x:a|b|trials:10|documents:3|reference:0123456789ab|crfpunct:1.2"
    assert str(signature) == f"{signature.own()}|{signature.shared()}"
    assert list(signature.fields())[-1] == "crfpunct"


def test_every_label_of_the_tool_has_a_name() -> None:
    named = [cells.mark_name(label) for label in poleval.LABELS]
    assert len(set(named)) == len(named)
    assert cells.mark_name("XCL") == ("!", "exclamation mark")


def test_a_narrow_screen_loses_spare_columns_and_no_digit(
    evaluated: evaluation.Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    report = tables.evaluation_report(evaluated, details=True)
    terminal.write(report, out)
    drawn = [line.rstrip() for line in out.getvalue().splitlines()]
    assert all(len(line) <= 80 for line in drawn if "─" in line)
    assert "(left out on this narrow screen: F1 geval, output)" in drawn
    for table in report.tables:
        for row in table.rows:
            kept = [cell for cell, column in zip(row, table.columns, strict=True) if not column.spare and cell]
            assert any(all(cell in line for cell in kept) for line in drawn), row


def test_many_systems_are_summed_up_against_the_baseline(texts: Texts) -> None:
    systems = [Text.of(texts[name].lines, f"{name}.txt") for name in ("near", "far", "other", "same")]
    report = tables.comparison_report(
        comparison.compare(texts["reference"], systems, sampling=evaluation.Sampling(trials=1000))
    )
    (note,) = report.tables[0].notes
    assert re.fullmatch(
        r"\* significant at 0\.05 \(6 tests, corrected by Holm's method\): .*same is better than far.*\.", note
    )
    several = comparison.compare(
        texts["reference"],
        [*systems, Text.of(disturbed_twice(texts["same"].lines), "twice.txt")],
        sampling=evaluation.Sampling(trials=1000),
    )
    (note,) = tables.comparison_report(several).tables[0].notes
    assert "better than near: same" in note
    assert "worse than near: far" in note
    assert re.search(r"\d of 10 pairs differ\.$", note)


def disturbed_twice(lines: Any) -> list[str]:
    """Every other mark of a kind is lost."""
    return [line.replace(",", "").replace("?", ".") for line in lines]


def many(texts: Texts, systems: int) -> tables.Report:
    """A comparison of systems with long names."""
    names = [f"a/long/path/of-a-system/{place}.txt" for place in range(systems)]
    result = comparison.compare(
        texts["reference"], [texts["near"]] * systems, sampling=evaluation.Sampling(trials=50), names=names
    )
    return tables.comparison_report(result)


@pytest.mark.parametrize("columns", ["20", "80", ""])
def test_names_wrap_and_numbers_are_never_cut(texts: Texts, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: bool(columns))
    report = many(texts, 20)
    terminal.write(report, out)
    drawn = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert "…" not in drawn
    cells = drawn.split()
    for table in report.tables:
        for row in table.rows:
            for cell, column in zip(row, table.columns, strict=True):
                assert not column.right or column.spare or not cell or cell in cells
    assert (report.tables[0].rows[7][0] in cells) == (not columns)
