"""Do pauses in one language tell where marks stand in another? English pause weights on a Polish model of text alone.

    python tests/benchmarks/transfer.py --text pl-open      # scored on the training part of WikiPunct

A CRF that looks at pauses only learns from calls of Earnings-22, on top of what the English model says of the words
alone. What it learned is added to a Polish model for texts without word times: the weights of pauses, and what
changed in the transitions. Reads the data folder from --data or CRFPUNCT_DATA (default ../shared/data).
"""

from __future__ import annotations

import argparse
import os
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from accuracy import corpus

from crfpunct import formats, load, templates
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.estimators import PunctuationCRF
from crfpunct.prior import adapt
from crfpunct.tables import Tables
from crfpunct.training import bare, poleval_counts, without_times

NEVER = 10**9  # a count that no attribute reaches


def calls(data: Path, every: int) -> list[Document]:
    """Every so many calls of Earnings-22, from the first on, which are those that `en` was trained on if it is 3."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(data / "en-timed" / "earnings22-aligned.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        found = sorted(Path(folder).rglob("*.nlp"))[::every]
        return [bare(document) for call in found for document in formats.read_punctuated(str(call))]


def text_chain(model: str) -> LinearChain:
    """A model's CRF for texts without word times."""
    punctuator = load(model).punctuator
    assert punctuator is not None
    return punctuator.text


def pauses_on(text: LinearChain, documents: Sequence[Document], features: templates.FeatureSet) -> PunctuationCRF:
    """What pauses add to a CRF of words: its words learn nothing new."""
    only = [
        template if all(o.is_pause for o, _ in template.use) else replace(template, min_count=NEVER)
        for template in features.templates
    ]
    return PunctuationCRF(replace(features, templates=tuple(only)), prior=text, max_iterations=40).fit(documents)


def carried_over(learned: PunctuationCRF, english: LinearChain, polish: LinearChain) -> LinearChain:
    """The Polish CRF with the English weights of pauses; states go by their names."""
    change = learned.adapted_.own
    keep = np.asarray((change.weights != 0).any(axis=1))
    column = [change.states.index(state) if state in change.states else -1 for state in polish.states]
    weights = np.pad(change.weights[np.append(0, np.flatnonzero(keep))], ((0, 0), (0, 1)))[:, column]
    difference = np.pad(learned.chain_.transition - english.transition, (0, 1))[np.ix_(column, column)]
    used = tuple({template.use: template for template in (*polish.index.templates, *change.index.templates)}.values())
    index = change.index.select(keep)
    parts = dict(zip((t.use for t in index.templates), index.keys, strict=True))
    values = {o: index.values.get(o, ()) for t in used for o, _ in t.use if not o.by_token}
    none = np.zeros(0, dtype=np.int64)
    index = replace(
        index,
        templates=used,
        lexicons=polish.index.lexicons,
        values=values,
        keys=tuple(parts.get(template.use, none) for template in used),
    )
    order = np.concatenate([[0], *(_ids(change, keep, template) for template in used)]).astype(np.int64)
    own = LinearChain(polish.states, index, weights[order], polish.transition + difference, polish.bias)
    size = len(polish.states)
    return adapt(polish, own, np.eye(size), np.zeros(size)).folded()


def _ids(chain: LinearChain, keep: np.ndarray, template: templates.Template) -> np.ndarray:
    """The ids, among the attributes kept, of those of a template."""
    number = np.cumsum(keep)
    for own, keys, first in zip(chain.index.templates, chain.index.keys, chain.index.first_ids(), strict=True):
        if own.use == template.use:
            ids = np.arange(first, first + len(keys))
            return number[ids[keep[ids]]]
    return np.zeros(0, dtype=np.int64)


def main() -> None:
    """Train, carry over, score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CRFPUNCT_DATA", "../shared/data")))
    parser.add_argument("--text", default="pl-open", help="the Polish model")
    parser.add_argument("--every", type=int, default=3, help="of the calls; 3: those that `en` was trained on")
    arguments = parser.parse_args()
    english, polish = text_chain("en"), text_chain(arguments.text)
    learned = pauses_on(english, calls(arguments.data, arguments.every), templates.load("en-punct"))
    timed = [document for document in corpus(arguments.data) if document.times_ms is not None]
    systems = {
        "text alone": (polish, without_times(timed)),
        "with English pauses": (carried_over(learned, english, polish), timed),
    }
    print("| WikiPunct, training part, texts with times | weighted F1 (rule:all) | `.` | `,` | `?` |")
    print("|---|--:|--:|--:|--:|")
    for name, (chain, documents) in systems.items():
        counts = poleval_counts(documents, Tables(chain).decode(documents))
        f1 = {score.label: score.f1 for score in counts.per_label("all")}
        marks = " | ".join(f"{f1.get(label, 0.0):.1f}" for label in ("FULLSTOP", "COMMA", "QMARK"))
        print(f"| {name} | {counts.weighted_f1('all'):.2f} | {marks} |")


if __name__ == "__main__":
    main()
