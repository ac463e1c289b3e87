"""`crfpunct evaluate` and `crfpunct compare`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crfpunct.cli.notes import note

if TYPE_CHECKING:
    from crfpunct.scoring.texts import Text

To = Literal["table", "json", "md", "latex", "html"]
Task = Literal["punct", "case", "wer", "all"]


class Metric(StrEnum):
    """The names of `crfpunct.scoring.metrics.METRICS`, which is too heavy to import for a list of choices."""

    POLEVAL = "poleval"
    POLEVAL_GEVAL = "poleval-geval"
    MARKS_MICRO = "marks-micro"
    MARKS_MACRO = "marks-macro"
    MARKS_WEIGHTED = "marks-weighted"
    SER = "ser"
    IWSLT = "iwslt"
    CASE_F1 = "case-f1"
    CASE_ACCURACY = "case-accuracy"
    WER = "wer"
    WER_MARKS = "wer-marks"
    WER_CASE = "wer-case"
    WER_BOTH = "wer-both"
    CER = "cer"
    LINES = "lines"


#: The metric by which `compare` compares where none is named.
_METRICS_OF_TASK: dict[Task, list[Metric]] = {
    "punct": [Metric.POLEVAL],
    "case": [Metric.CASE_F1],
    "wer": [Metric.WER],
    "all": [Metric.POLEVAL, Metric.CASE_F1, Metric.WER],
}

_Output = Annotated[str, typer.Option("--output", "-o", help="File to write, whole or not at all; - is stdout.")]
_ToOption = Annotated[
    To | None, typer.Option("--to", help="How to print the result (default: as the output's suffix says, else table).")
]
_TO_OF_SUFFIX: dict[str, To] = {".json": "json", ".md": "md", ".tex": "latex", ".html": "html"}
_From = Annotated[
    str | None, typer.Option("--from", metavar="FORMAT", help="Format of the output, else guessed from the file.")
]
_ReferenceFrom = Annotated[
    str | None,
    typer.Option("--reference-from", metavar="FORMAT", help="Format of the reference, else as for the output."),
]
_Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of resampling and swapping.")]
_Confidence = Annotated[float, typer.Option("--confidence", min=1, max=99.9, help="Confidence of intervals, percent.")]
_OneDocument = Annotated[bool, typer.Option("--one-document", help="Join each file into one document first.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the program."""
    app.command()(evaluate)
    app.command()(compare)


def evaluate(
    reference: Annotated[str, typer.Argument(help="The right text: any readable format; - is stdin.")],
    hypothesis: Annotated[str, typer.Argument(help="A system's output of the same documents; - is stdin.")],
    task: Annotated[
        Task, typer.Option("--task", help="Score marks, upper and lower case, words and their errors, or all of it.")
    ] = "punct",
    scheme: Annotated[
        Literal["poleval", "iwslt"], typer.Option("--scheme", help="Score all marks, or the three of IWSLT 2011.")
    ] = "poleval",
    details: Annotated[
        bool, typer.Option("--details", help="Print every table: confusion matrix, seqeval's averages, …")
    ] = False,
    to: _ToOption = None,
    output: _Output = "-",
    format: _From = None,
    reference_format: _ReferenceFrom = None,
    one_document: _OneDocument = False,
    trials: Annotated[int, typer.Option("--trials", min=1, max=1_000_000, help="Resamples for the intervals.")] = 1_000,
    seed: _Seed = 0,
    confidence: _Confidence = 95.0,
) -> None:
    """Score a system's output against a reference.

    Prints the PolEval weighted F1 by both rules and each mark's scores, with intervals and signatures;
    docs/evaluation.md defines every number.
    """
    from crfpunct.errors import CorpusError
    from crfpunct.files import open_output
    from crfpunct.report import data, markup, tables, terminal
    from crfpunct.scoring import evaluation, texts

    to = to or _TO_OF_SUFFIX.get(Path(output).suffix.lower(), "table")
    expected, found = _read(reference, [hypothesis], reference_format, format)
    pair = texts.pair(expected, found[0], one_document)
    result = evaluation.evaluate(pair, task, scheme, evaluation.Sampling(trials, seed, confidence))
    # Different numbers of documents are bad data: said last, with exit code 1, behind what can be scored all the same.
    mismatch, *warnings = result.warnings if pair.missing else ["", *result.warnings]
    for warning in warnings:
        note(warning)
    report = tables.evaluation_report(result, details or to in ("html", "md", "latex"))
    with open_output(output) as out:
        if to == "json":
            data.write(data.evaluation_data(result), out)
        elif to == "html":
            from crfpunct.report import page

            page.write_evaluation(result, report, out)
        else:
            {"table": terminal.write, "md": markup.write_markdown, "latex": markup.write_latex}[to](report, out)
    if pair.missing:
        raise CorpusError(mismatch)


def compare(
    reference: Annotated[str, typer.Argument(help="The right text: any readable format.")],
    baseline: Annotated[str, typer.Argument(help="The output to compare with, perhaps as NAME=FILE.")],
    systems: Annotated[list[str], typer.Argument(help="Other systems' outputs, perhaps as NAME=FILE.")],
    task: Annotated[
        Task, typer.Option("--task", help="Whose usual metric to use: PolEval F1, F1 of capitals, WER, or all three.")
    ] = "punct",
    metrics: Annotated[
        list[Metric] | None, typer.Option("--metric", help="Metric to compare by; may be repeated.")
    ] = None,
    to: _ToOption = None,
    output: _Output = "-",
    format: _From = None,
    reference_format: _ReferenceFrom = None,
    one_document: _OneDocument = False,
    trials: Annotated[
        int, typer.Option("--trials", min=1, max=1_000_000, help="Random swaps, and resamples, of documents.")
    ] = 10_000,
    seed: _Seed = 0,
    confidence: _Confidence = 95.0,
) -> None:
    """Compare systems on one test set: scores, differences, intervals and p-values.

    Tests by approximate randomisation, with Holm's correction; intervals by the paired bootstrap
    (docs/significance.md).
    """
    from crfpunct.files import open_output
    from crfpunct.report import data, markup, tables, terminal
    from crfpunct.scoring import comparison
    from crfpunct.scoring.evaluation import Sampling

    to = to or _TO_OF_SUFFIX.get(Path(output).suffix.lower(), "table")
    named = [_name_and_path(argument) for argument in (baseline, *systems)]
    expected, found = _read(reference, [path for _, path in named], reference_format, format)
    short = comparison.short_names([text.name for text in found])
    names = [name or default for (name, _), default in zip(named, short, strict=True)]
    for name in names:
        if names.count(name) > 1:
            raise typer.BadParameter(f"two systems have the name {name!r}; give one another name, as NAME=FILE.")
    result = comparison.compare(
        expected,
        found,
        [metric.value for metric in dict.fromkeys(metrics or _METRICS_OF_TASK[task])],
        Sampling(trials, seed, confidence),
        one_document,
        names,
    )
    for warning in result.warnings:
        note(warning)
    report = tables.comparison_report(result)
    with open_output(output) as out:
        if to == "json":
            data.write(data.comparison_data(result), out)
        elif to == "html":
            from crfpunct.report import page

            page.write_comparison(result, report, out)
        else:
            {"table": terminal.write, "md": markup.write_markdown, "latex": markup.write_latex}[to](report, out)


def _read(
    reference: str, hypotheses: list[str], reference_format: str | None, format: str | None
) -> tuple[Text, list[Text]]:
    from crfpunct.files import STDIO
    from crfpunct.scoring import texts

    if [reference, *hypotheses].count(STDIO) > 1:
        raise typer.BadParameter("only one of the texts can be standard input (-).")
    expected = texts.read(reference, reference_format or format)
    return expected, [texts.read(path, format) for path in hypotheses]


def _name_and_path(argument: str) -> tuple[str, str]:
    """Split NAME=FILE; a file that has such a name itself is one."""
    name, sign, path = argument.partition("=")
    return (name, path) if sign and not Path(argument).exists() else ("", argument)
