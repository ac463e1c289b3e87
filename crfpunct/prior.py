"""What a CRF takes over from one that was trained on other text, as weights of its own.

A CRF for a small corpus (speech with word times) can start from what a CRF for a large one (text) says: the scores of
the other CRF's labels are given to its training as real-valued features, whose weights are learned like any others.
Scores are sums of weights of attributes, so the two CRFs together are one linear-chain CRF again, and tagging costs
nothing more. (Stacking, Cohen & Carvalho 2005, of which the lower classifier is linear; what is
learned is a change of the prior model, as in Chelba & Acero 2006.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfpunct.attributes import AttributeIndex, split_keys
from crfpunct.chain import LinearChain, blocks, pack_weights, round_weights, unpack_weights
from crfpunct.errors import ModelError, TemplateError
from crfpunct.observations import EDGE, FIRST_VALUE, IntArray, Observation
from crfpunct.templates import Template

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Adapted:
    """A CRF that adds to the scores of a prior one. The two have the attributes of both, A of them.

    The score of label l at a token is that of `own`, plus constant[l], plus the prior's scores times mixing[:, l].
    own: what was learned of the attributes themselves. prior: (A + 1, K) the prior's weights. mixing: (K, L) from the
    prior's labels to the chain's. constant: (L,).
    """

    own: LinearChain
    prior: FloatArray
    mixing: FloatArray
    constant: FloatArray

    def folded(self) -> LinearChain:
        """Both as one CRF, equal to the two in every score."""
        weights = np.empty_like(self.own.weights)
        for rows in blocks(len(weights)):
            np.add(self.own.weights[rows], self.prior[rows] @ self.mixing, out=weights[rows])
        # CRFsuite's CRFs have no constant. Every token but a document's first has one before it, whose transition can
        # carry it; the first has an edge there.
        weights[_edge(self.own.index)] += self.constant
        return replace(self.own, weights=weights, transition=self.own.transition + self.constant)

    def rounded(self) -> Adapted:
        """Both as a model folder keeps them: see `LinearChain.rounded`."""
        own, prior = round_weights(self.own.weights), round_weights(self.prior)
        keep = np.asarray(own.any(axis=1) | prior.any(axis=1))
        keep[_edge(self.own.index)] = True
        keep[0] = False
        index = self.own.index.select(keep)
        own, prior = (np.vstack([np.zeros(table.shape[1]), table[keep]]) for table in (own, prior))
        return replace(self, own=replace(self.own, index=index, weights=own), prior=prior)

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The attributes with both CRFs' weights, `rounded`, and how they are put together."""
        kept = self.rounded()
        own = kept.own.index.to_arrays() | pack_weights(kept.own.weights) | kept.own.rest_to_arrays()
        return own | pack_weights(kept.prior, _PRIOR) | {"mixing": self.mixing, "constant": self.constant}

    @staticmethod
    def from_arrays(
        arrays: Mapping[str, NDArray[Any]],
        states: Sequence[str],
        templates: tuple[Template, ...],
        lexicons: Mapping[str, Mapping[str, str]],
    ) -> Adapted:
        """The `rounded` CRFs from their arrays; ModelError where they do not fit together."""
        own = LinearChain.from_arrays(arrays, states, templates, lexicons)
        try:
            mixing, constant = arrays["mixing"].astype(np.float64), arrays["constant"].astype(np.float64)
            if mixing.ndim != 2 or mixing.shape[1] != len(states) or constant.shape != (len(states),):
                raise ValueError(f"mixing of shape {mixing.shape}, constant of {constant.shape}, {len(states)} states")
            prior = unpack_weights(arrays, own.index.count, len(mixing), _PRIOR)
            _edge(own.index)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ModelError(f"its prior does not fit its attributes ({error}); train or fetch it again.") from error
        return Adapted(own, prior, mixing, constant)


_PRIOR = "prior_"  # before the names of the arrays of its weights


def read(
    arrays: Mapping[str, NDArray[Any]],
    states: Sequence[str],
    templates: tuple[Template, ...],
    lexicons: Mapping[str, Mapping[str, str]],
) -> LinearChain:
    """A CRF from its arrays, whether it was trained on a prior or not; ModelError where they do not fit together."""
    if "mixing" in arrays:
        return Adapted.from_arrays(arrays, states, templates, lexicons).folded()
    return LinearChain.from_arrays(arrays, states, templates, lexicons)


def adapt(prior: LinearChain, own: LinearChain, mixing: FloatArray, constant: FloatArray) -> Adapted:
    """Bring a prior and what was learned on top of it to the same attributes.

    TemplateError where no template looks at the word before alone, or where the prior has templates of its own.
    """
    place_of = {template.use: m for m, template in enumerate(own.index.templates)}
    if strange := [template for template in prior.index.templates if template.use not in place_of]:
        raise TemplateError(f"template {strange[0].name!r} ({strange[0]}) is the prior's alone; use its feature file.")
    before = _before(own.index.templates)
    values = {o: _union(own.index.values[o], prior.index.values.get(o, ())) for o in own.index.values}
    index = AttributeIndex(own.index.templates, own.index.lexicons, values, ())
    of_own = _parts(own, values)
    of_prior = {t.use: parts for t, parts in zip(prior.index.templates, _parts(prior, values), strict=True)}
    no_parts: tuple[list[IntArray], IntArray] = ([], np.zeros(0, dtype=np.int64))

    components: list[list[IntArray]] = []
    rows_of_own, rows_of_prior = [np.zeros(1, dtype=np.int64)], [np.zeros(1, dtype=np.int64)]  # 0: has none
    for template, (parts, ids) in zip(own.index.templates, of_own, strict=True):
        radices = index.radices(template)
        keys = _keys(parts, radices)
        prior_parts, prior_ids = of_prior.get(template.use, no_parts)
        prior_keys = _keys(prior_parts, radices)
        edge = np.full(int(template == before), EDGE)  # it must be there to carry the constant
        distinct = np.unique(np.concatenate([keys, prior_keys, edge]))
        components.append(split_keys(distinct, radices))
        for rows, found, of in ((rows_of_own, keys, ids), (rows_of_prior, prior_keys, prior_ids)):
            row = np.zeros(len(distinct), dtype=np.int64)
            row[np.searchsorted(distinct, found)] = of
            rows.append(row)
    index = AttributeIndex.of_components(own.index.templates, own.index.lexicons, values, components)
    own = replace(own, index=index, weights=own.weights[np.concatenate(rows_of_own)])
    return Adapted(own, prior.weights[np.concatenate(rows_of_prior)], mixing, constant)


#: How much of what pauses say elsewhere is believed (docs/accuracy.md, Polish from freely licensed text).
PAUSE_SHARE = 0.7


def with_pauses(
    text: LinearChain,
    pauses: LinearChain,
    templates: tuple[Template, ...],
    odds: FloatArray,
    share: float = PAUSE_SHARE,
) -> Adapted:
    """A CRF for texts with word times, of one that learned from texts without and one that learned pauses elsewhere.

    The language of the pauses may be another. text: looks at those of the templates that look at no pause. pauses: its
    scores plus odds (K,) are log-odds of its labels given the pauses (`log_odds`). Both are added as if pauses and
    words were independent given the mark (a product of experts: Hinton 2002), the pauses times PAUSE_SHARE, since
    they are not. A mark that the pauses know nothing of is as likely as none.
    """
    keys_of = dict(zip((t.use for t in pauses.index.templates), pauses.index.keys, strict=True))
    keys = tuple(keys_of.get(template.use, np.zeros(0, dtype=np.int64)) for template in templates)
    observed = {o for template in templates for o, _ in template.use if not o.by_token}
    index = AttributeIndex(templates, text.index.lexicons, dict.fromkeys(observed, ()), keys)
    known = [pauses.labels.index(label) if label in pauses.labels else 0 for label in text.labels]
    own = replace(text, index=index, weights=share * pauses.weights[:, known])
    return adapt(text, own, np.eye(len(text.states)), share * odds[known])


def log_odds(scores: FloatArray, labels: IntArray) -> FloatArray:
    """What to add to scores (T, K) for log-odds of the labels (T,): K numbers.

    The scores are first moved until their softmax has every label as often as it is there (iterative proportional
    fitting: Deming and Stephan 1940); less the logarithm of how often that is, they are log-odds.
    """
    share = np.log(np.maximum(np.bincount(labels, minlength=scores.shape[1]), 0.5) / len(labels))
    added = np.zeros(scores.shape[1])
    for _ in range(_ROUNDS):
        probable = np.exp(scores + added - (scores + added).max(axis=1, keepdims=True))
        probable /= probable.sum(axis=1, keepdims=True)
        added += share - np.log(probable.mean(axis=0))
    odds: FloatArray = added - share - (added[0] - share[0])
    return odds


_ROUNDS = 30


def _edge(index: AttributeIndex) -> int:
    """The id of the attribute that a document's first token alone has; ValueError where it is missing."""
    m = index.templates.index(_before(index.templates))
    place = np.searchsorted(index.keys[m], EDGE)
    if place == len(index.keys[m]) or index.keys[m][place] != EDGE:
        raise ValueError("no attribute of a document's edge")
    return int(index.first_ids()[m] + place)


def check_prior(templates: Sequence[Template], what: str = "a prior") -> None:
    """TemplateError where no template looks at the word before alone, which both together need."""
    _before(templates, what)


def _before(templates: Sequence[Template], what: str = "a prior") -> Template:
    for template in templates:
        if len(template.use) == 1 and template.use[0][1] == -1:
            return template
    raise TemplateError(f'{what} needs a template for the word before; add one with use = ["word[-1]"].')


def _union(own: Sequence[str], others: Sequence[str]) -> Sequence[str]:
    return own if not others else sorted({*own, *others})


def _parts(chain: LinearChain, values: Mapping[Observation, Sequence[str]]) -> list[tuple[list[IntArray], IntArray]]:
    """Per template its attributes as value numbers among `values`, and their ids."""
    renumbered: dict[Observation, IntArray] = {}
    for observation, known in chain.index.values.items():
        number = {value: i for i, value in enumerate(values[observation], FIRST_VALUE)}
        renumbered[observation] = np.array([0, EDGE, *(number[value] for value in known)], dtype=np.int64)
    found = []
    for template, keys, first in zip(chain.index.templates, chain.index.keys, chain.index.first_ids(), strict=True):
        parts = split_keys(keys, chain.index.radices(template))
        for i, (observation, _) in enumerate(template.use):
            if not observation.by_token:
                parts[i] = renumbered[observation][parts[i]]
        found.append((parts, first + np.arange(len(keys))))
    return found


def _keys(parts: Sequence[IntArray], radices: Sequence[int]) -> IntArray:
    key = np.zeros(len(parts[0]) if parts else 0, dtype=np.int64)
    for part, size in zip(parts, radices, strict=False):  # no parts, no keys
        key = key * size + part
    return key
