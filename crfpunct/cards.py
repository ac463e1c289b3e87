"""Model cards: what a model folder says about itself, for people, from its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from crfpunct.chain import OF_SENTENCE
from crfpunct.scoring import poleval

Task = Literal["punct", "case"]
TASKS: tuple[Task, ...] = ("punct", "case")

_CHAIN_TITLES = {"prior": "prior, of other text", "text": "text alone", "timed": "with word times"}
_TASK_TITLES = {"punct": "Punctuation", "case": "Case"}
_INTENT = {
    "punct": "Puts marks behind words. It has one CRF for texts without word times and, if it was trained with times, "
    "one for texts with them; that one tags a text if at least half of the gaps between its words are known.",
    "case": "Finds the case of each word, given the marks between the words, and spells it: in lower case, with a "
    "capital first, all in capitals, or in a mixed form learned from the training text (`iPhone`).",
}
_LIMITS = {
    "punct": "It knows the kind of text it was trained on; other kinds of speech and writing get fewer and worse "
    "marks. Marks that are rare in the data (`!`, `;`, `...`) are rarely placed. It does not change or correct words.",
    "case": "Names that it has not seen are told by their endings and neighbours alone. A wrong full stop makes a "
    "wrong capital behind it. Words that cannot be raised without losing a letter (`ß`) stay as they are.",
}


def card(manifest: Mapping[str, Any]) -> str:
    """The model card: data, licence, intended use, limits, scores; Markdown."""
    language = f" for `{manifest['language']}`" if manifest["language"] else ""
    lines = [f"# Model{language}", "", f"Trained with crfpunct {manifest['crfpunct']}."]
    if manifest["non_commercial"]:
        lines += [
            "",
            "**For research and non-commercial use**: the licence of training data asks for it. A model of your own "
            "data has no such limit: `crfpunct train YOUR-TEXTS --out my-model` trains one.",
        ]
    lines += ["", "The folder holds statistics (weights of words, word parts and pauses), no sentence of the data."]
    for task in TASKS:
        if task in manifest:
            lines += ["", f"## {_TASK_TITLES[task]}", "", *_part_of_card(task, manifest[task])]
    return "\n".join([*lines, ""])


def _part_of_card(task: Task, entry: Mapping[str, Any]) -> list[str]:
    training, text, speech = entry["training"], entry.get("text"), entry.get("speech")
    timed = f"{training['timed_documents']:,} with word times, " if task == "punct" else ""
    lines = [
        _INTENT[task],
        "",
        f"- Data: {entry['data'] or 'not stated'}; {training['documents']:,} texts, {timed}{training['words']:,} "
        f"words, fingerprint `{training['fingerprint']}`."
        + (f" Other text, for the prior: {text['words']:,} words, `{text['fingerprint']}`." if text else "")
        + (f" Speech, for the pauses: {speech['words']:,} words, `{speech['fingerprint']}`." if speech else ""),
        f"- Licence of the data: {entry['licence'] or 'not stated'}."
        + (" Non-commercial use only." if entry["non_commercial"] else ""),
        f"- Limits: {_LIMITS[task]}",
        "",
        "| CRF | labels | attributes | c1 | c2 | iterations at most | bias |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, chain in entry.get("chains", {"case": entry}).items():
        labels = " ".join(f"`{label}`" for label in chain["labels"] if label and OF_SENTENCE not in label)
        split = [label.partition(OF_SENTENCE)[2] for label in chain["labels"] if OF_SENTENCE in label]
        if split:
            labels += f"; sentences with {' '.join(f'`{mark}`' for mark in split)} apart"
        options = chain["options"]
        lines.append(
            f"| {_CHAIN_TITLES.get(name, name)} | {labels} | {chain['attributes']:,} | {options['c1']:g} "
            f"| {options['c2']:g} | {options['max_iterations']} | {options['bias']:g} |"
        )
    if not entry["scores"]:
        return [*lines, "", "Not cross-validated (`crfpunct train --folds 5` does it)."]
    if task == "case":
        scores = entry["scores"]
        return [
            *lines,
            "",
            f"Cross-validated over {scores['folds']} folds of documents, the true marks given: F1 of words with a "
            f"capital {_cell(scores['f1'])}, accuracy {_cell(scores['accuracy'])} (mean ± standard deviation).",
        ]
    lines += [
        "",
        "PolEval weighted F1 in percent, cross-validated over documents: mean ± standard deviation of the folds. "
        "`rule:geval` is the task's own counting, `rule:all` counts every false positive.",
        "",
        "| CRF | folds | rule:geval | rule:all |",
        "|---|---|---|---|",
    ]
    for name, scores in entry["scores"].items():
        cells = " | ".join(_cell(scores[rule]) for rule in poleval.RULES)
        lines.append(f"| {_CHAIN_TITLES[name]} | {scores['folds']} | {cells} |")
    lines += ["", "All folds together, `rule:all`: precision / recall / F1 of each mark.", ""]
    kinds = list(entry["scores"])
    lines.append("| mark | in the data | " + " | ".join(_CHAIN_TITLES[kind] for kind in kinds) + " |")
    lines.append("|---|---|" + "---|" * len(kinds))
    marks_found = entry["scores"][kinds[0]]["marks"]
    for mark, score in marks_found.items():
        by_kind = [entry["scores"][kind]["marks"].get(mark) for kind in kinds]
        cells = " | ".join(
            " / ".join(
                "–" if s is None or s[kind] is None else f"{s[kind]:.1f}" for kind in ("precision", "recall", "f1")
            )
            for s in by_kind
        )
        lines.append(f"| `{mark}` | {score['reference']} | {cells} |")
    return lines


def _cell(score: Mapping[str, Any]) -> str:
    return "–" if score["mean"] is None else f"{score['mean']:.2f} ± {score['sd'] or 0:.2f}"
