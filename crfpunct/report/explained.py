"""Explanations of a model and of its decisions, as tables and as JSON (the schema is documented in docs/explain.md)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from crfpunct.chain import OF_SENTENCE
from crfpunct.explanation import Decision, Explained, Explainer, Reason, Share, state_name
from crfpunct.report.cells import UNDEFINED, count, mark_name, number, signed
from crfpunct.report.data import Json
from crfpunct.report.tables import Column, Report, Table
from crfpunct.scoring.notices import plural

#: Version of the JSON schema.
SCHEMA = 1

#: Least probability of each band of certainty but the last.
_BANDS = (0.9, 0.7, 0.5)
#: Characters of reasons that the table of all marks has room for.
_IN_OVERVIEW = 72


@dataclass(frozen=True, slots=True)
class Reading:
    """Explained texts of one model and task, to be written out.

    model, source: their names. numbers: each text's number in its file, from 1. at: (place in `texts`, word from 0) of
    what the user asked about; where it is empty, all that was placed. top: how many attributes are named a place.
    """

    model: str
    task: str
    source: str
    texts: Sequence[Explained]
    numbers: Sequence[int]
    at: Sequence[tuple[int, int]]
    top: int

    @property
    def places(self) -> list[tuple[int, int]]:
        """(place in `texts`, word from 0) of every decision that is explained."""
        return list(self.at) or [(i, place) for i, text in enumerate(self.texts) for place in text.placed]

    @property
    def chains(self) -> list[Explainer]:
        """The CRFs that decided, each once."""
        return list({id(text.explainer): text.explainer for text in self.texts}.values())

    def title_of(self, text: int) -> str:
        """A text's id, or its number in the file."""
        return " ".join(self.texts[text].document.id.split()) or f"document {self.numbers[text]}"

    def shares(self) -> list[Share]:
        """Shares of the templates in the decisions; with two CRFs, those of the one that placed more."""
        by_chain = [[text for text in self.texts if text.explainer is chain] for chain in self.chains]
        texts = max(by_chain, key=lambda texts: sum(len(text.placed) for text in texts))
        return texts[0].explainer.shares(texts)


def shortened(decision: Decision, top: int) -> tuple[list[Reason], Reason | None]:
    """The first `top` attributes, and all others as one (None if there are no others)."""
    rest = decision.attributes[top:]
    if not rest:
        return list(decision.attributes), None
    chosen, runner_up = (sum(getattr(reason, side) for reason in rest) for side in ("chosen", "runner_up"))
    named = "1 other attribute" if len(rest) == 1 else f"{len(rest)} other attributes"
    return list(decision.attributes[:top]), Reason("", named, chosen, runner_up)


def label_name(label: str) -> str:
    """A label in words: `comma`; `none`; a class of case, and a mark without a name, as it is."""
    return label if label.isalpha() else mark_name(label)[1]


def sign_of(label: str) -> str:
    """A label as short as it can be told from others: the mark itself, `none`, or the class of case."""
    return label or "none"


def percent(probability: float) -> str:
    """A probability in percent, never rounded up to 100 or down to 0.

    >>> percent(0.9999), percent(0.934), percent(0.0001), percent(1.0)
    ('>99.9', '93.4', '<0.1', '100.0')
    """
    if 0.9995 < probability < 1:
        return ">99.9"
    return "<0.1" if 0 < probability < 0.0005 else f"{100 * probability:.1f}"


def band(probability: float) -> int:
    """How sure: 1 (at least 90 %), 2 (70 %), 3 (50 %) or 4."""
    return 1 + sum(probability < least for least in _BANDS)


def pause(gap_ms: int) -> str:
    """A pause in ms; `–` where it is unknown."""
    return UNDEFINED if gap_ms < 0 else f"{gap_ms:,}"


# ---------------------------------------------------------------- texts


def text_report(reading: Reading, details: bool) -> Report:
    """What was placed and why, as tables; `details`: one for each place as well."""
    words = sum(len(text.words) for text in reading.texts)
    placed = sum(len(text.placed) for text in reading.texts)
    tables = [_overview(reading)]
    if details or reading.at:
        tables += [_place_table(reading, text, place) for text, place in reading.places]
    if not reading.at:
        about = "Share of the differences between the label and the runner-up that each template makes, where a label "
        tables.append(shares_table(reading.shares(), about + "was placed."))
    what = "words with a capital" if reading.task == "case" else "marks"
    chains = ", ".join(dict.fromkeys(text.chain for text in reading.texts))
    return Report(
        f"{reading.source}, explained by {reading.model} ({chains})",
        f"{plural(len(reading.texts), 'document')}, {count(words)} words, {count(placed)} {what}",
        tables,
        [],
    )


def _overview(reading: Reading) -> Table:
    rows = []
    rules = set()
    shown = reading.places
    for i, (number_of_text, place) in enumerate(shown):
        text = reading.texts[number_of_text]
        decision = text.decision(place)
        if i and shown[i - 1][0] != number_of_text:
            rules.add(i)
        rows.append(
            (
                str(reading.numbers[number_of_text]),
                str(place + 1),
                text.words[place],
                sign_of(decision.label),
                percent(text.probability(place)),
                sign_of(decision.runner_up),
                percent(text.probability(place, decision.runner_up)),
                pause(int(text.gaps_ms[place])),
                *(() if text.given is None else (sign_of(text.given[place]),)),
                _because(decision),
            )
        )
    with_own = any(text.given is not None for text in reading.texts)
    columns = [
        Column("document"),
        Column("word"),
        Column("", right=False),
        Column("label", right=False),
        Column("%"),
        Column("runner-up", right=False),
        Column("%"),
        Column("pause, ms"),
        *([Column("in the text", right=False)] if with_own else []),
        Column("because of", right=False),
    ]
    padded = [row if len(row) == len(columns) else (*row[:-1], UNDEFINED, row[-1]) for row in rows]
    return Table("places", "Decisions", columns, padded, rules=frozenset(rules))


def _because(decision: Decision) -> str:
    """The strongest attributes that speak for the label: the first, and others as far as there is room."""
    named = [f"{reason.seen} {signed(reason.lead)}" for reason in decision.attributes if reason.lead > 0]
    shown = named[:1]
    for reason in named[1:]:
        if len("; ".join([*shown, reason])) > _IN_OVERVIEW:
            break
        shown.append(reason)
    return "; ".join(shown)


def _place_table(reading: Reading, number_of_text: int, place: int) -> Table:
    text = reading.texts[number_of_text]
    decision = text.decision(place)
    named, rest = shortened(decision, reading.top)
    reasons = [*named, *([rest] if rest else []), *decision.path]
    rows = [
        (reason.seen, reason.template, number(reason.chosen), number(reason.runner_up), signed(reason.lead))
        for reason in reasons
    ]
    lead = decision.lead
    sums = [sum(getattr(reason, side) for reason in reasons) for side in ("chosen", "runner_up")]
    rows.append(("sum", "", number(sums[0]), number(sums[1]), signed(lead)))
    order = sorted(range(len(text.labels)), key=lambda i: -text.probabilities[place, i])
    probabilities = ", ".join(f"{sign_of(text.labels[i])} {percent(text.probabilities[place, i])} %" for i in order)
    notes = [f"Probabilities: {probabilities}."]
    if text.gaps_ms[place] >= 0:
        notes.append(f"Pause: {pause(int(text.gaps_ms[place]))} ms.")
    if text.given is not None:
        notes.append(f"In the text itself: {label_name(text.given[place])}.")
    return Table(
        f"place-{number_of_text}-{place}",
        f"{reading.title_of(number_of_text)}, word {place + 1} ({text.words[place]}): {label_name(decision.label)}, "
        f"not {label_name(decision.runner_up)}",
        [
            Column("seen", right=False),
            Column("template", right=False, spare=True),
            Column(f"for {sign_of(decision.label)}"),
            Column(f"for {sign_of(decision.runner_up)}"),
            Column("difference"),
        ],
        rows,
        strong=frozenset({(len(rows) - 1, 4)}),
        rules=frozenset({len(named) + (rest is not None), len(rows) - 1}),
        notes=notes,
    )


def by_name(shares: Sequence[Share]) -> list[tuple[str, bool, int, float]]:
    """The shares of templates of one name taken together: (name, pauses, attributes, share), the largest first."""
    groups: dict[str, list[Share]] = {}
    for share in shares:
        groups.setdefault(share.template, []).append(share)
    summed = [
        (name, any(s.pauses for s in group), sum(s.attributes for s in group), sum(s.share for s in group))
        for name, group in groups.items()
    ]
    return sorted(summed, key=lambda row: -row[3])


def shares_table(shares: Sequence[Share], about: str) -> Table:
    """Templates by their share."""
    rows = [
        (name, "yes" if pauses else "", count(attributes), number(100 * share, 1))
        for name, pauses, attributes, share in by_name(shares)
    ]
    notes = [about]
    if any(share.pauses for share in shares):
        total = sum(share.share for share in shares if share.pauses)
        notes.append(f"Templates that look at pauses: {number(100 * total, 1)} % together.")
    columns = [Column("template", right=False), Column("pauses", right=False), Column("attributes"), Column("share, %")]
    return Table("templates", "Templates", columns, rows, notes=notes)


def text_data(reading: Reading) -> Json:
    """All of it as JSON: every word with the probability of each label, and the reasons of the places explained."""
    explained: dict[int, list[int]] = {}
    for text, place in reading.places:
        explained.setdefault(text, []).append(place)
    return {
        "schema": {"name": "crfpunct-explanation", "version": SCHEMA},
        "model": reading.model,
        "task": reading.task,
        "source": reading.source,
        "documents": [
            {
                "number": reading.numbers[i],
                "id": text.document.id,
                "chain": text.chain,
                "labels": list(text.labels),
                "words": [
                    {
                        "word": word,
                        "label": label,
                        "given": None if text.given is None else text.given[place],
                        "pause_ms": None if text.gaps_ms[place] < 0 else int(text.gaps_ms[place]),
                        "probabilities": text.probabilities[place].tolist(),
                    }
                    for place, (word, label) in enumerate(zip(text.words, text.found, strict=True))
                ],
                "decisions": [_decision_data(text, place, reading.top) for place in explained.get(i, ())],
            }
            for i, text in enumerate(reading.texts)
        ],
        "templates": _shares_data(reading.shares()),
    }


def _decision_data(text: Explained, place: int, top: int) -> Json:
    decision = text.decision(place)
    named, rest = shortened(decision, top)
    return {
        "word": place + 1,
        "label": decision.label,
        "runner_up": decision.runner_up,
        "lead": decision.lead,
        "attributes": list(map(_reason_data, named)),
        "other_attributes": None if rest is None else _reason_data(rest),
        "path": list(map(_reason_data, decision.path)),
    }


def _reason_data(reason: Reason) -> Json:
    return {
        "template": reason.template,
        "seen": reason.seen,
        "chosen": reason.chosen,
        "runner_up": reason.runner_up,
        "lead": reason.lead,
    }


def _shares_data(shares: Sequence[Share]) -> list[Json]:
    return [
        {
            "template": share.template,
            "use": share.use,
            "pauses": share.pauses,
            "attributes": share.attributes,
            "share": share.share,
        }
        for share in shares
    ]


# ---------------------------------------------------------------- models


def model_report(model: str, chains: dict[str, Explainer], top: int) -> Report:
    """The strongest attributes of each label, the transitions and the templates' shares, of each CRF."""
    tables = []
    for name, explainer in chains.items():
        prefix = f"{name}: " if len(chains) > 1 else ""
        for state in explainer.chain.states:
            tables.append(_strongest_table(prefix, name, explainer, state, top))
        tables.append(_transition_table(prefix, name, explainer))
        about = "Share of the absolute weights, summed over attributes and labels."
        table = shares_table(explainer.shares(), about)
        tables.append(Table(f"templates-{name}", f"{prefix}templates", table.columns, table.rows, notes=table.notes))
    sizes = ", ".join(f"{name}: {count(explainer.chain.index.count)} attributes" for name, explainer in chains.items())
    return Report(f"{model}, explained", sizes, tables, [])


def _strongest_table(prefix: str, name: str, explainer: Explainer, state: str, top: int) -> Table:
    positive, negative = explainer.strongest(state, top)
    rows = [
        (
            signed(more[2]) if more else "",
            more[1] if more else "",
            signed(less[2]) if less else "",
            less[1] if less else "",
        )
        for more, less in itertools.zip_longest(positive, negative)
    ]
    columns = [Column("weight"), Column("speaks for it", right=False)]
    columns += [Column("weight"), Column("speaks against it", right=False)]
    number_of = explainer.chain.states.index(state)
    title = state_name(state)
    if state in explainer.chain.distinct:
        title = label_name(state) + (f" {state}" if state != label_name(state) else "")
    return Table(f"label-{name}-{number_of}", f"{prefix}{title}", columns, rows)


def _transition_table(prefix: str, name: str, explainer: Explainer) -> Table:
    chain = explainer.chain
    rows = [
        (_shown(state), *(signed(weight) for weight in row))
        for state, row in zip(chain.states, chain.transition.tolist(), strict=True)
    ]
    rows.append(("bias", *(signed(weight) for weight in chain.bias.tolist())))
    return Table(
        f"transitions-{name}",
        f"{prefix}transitions",
        [Column("from \\ to", right=False), *(Column(_shown(state)) for state in chain.states)],
        rows,
        rules=frozenset({len(rows) - 1}),
        notes=[
            "Weights from the label of a word (row) to that of the next (column); the bias counts in decisions only."
        ],
    )


def _shown(state: str) -> str:
    """A state in a narrow column: the sign of its label, and the mark of its sentence if that has states of its own."""
    label, _, sentence = state.partition(OF_SENTENCE)
    return f"{sign_of(label)} … {sentence}" if sentence else sign_of(label)


def model_data(model: str, chains: dict[str, Explainer], top: int) -> Json:
    """The same as JSON."""

    def strongest(rows: Sequence[tuple[str, str, float]]) -> list[Json]:
        return [dict(zip(("template", "seen", "weight"), row, strict=True)) for row in rows]

    result: Json = {"schema": {"name": "crfpunct-model-explanation", "version": SCHEMA}, "model": model, "chains": {}}
    for name, explainer in chains.items():
        chain = explainer.chain
        states = {}
        for state in chain.states:
            positive, negative = map(strongest, explainer.strongest(state, top))
            states[state] = {"for": positive, "against": negative}
        result["chains"][name] = {
            "labels": list(chain.states),
            "strongest": states,
            "transition": chain.transition.tolist(),
            "bias": chain.bias.tolist(),
            "templates": _shares_data(explainer.shares()),
        }
    return result
