"""What a CRF takes over from one that was trained on other text, as weights of its own.

A CRF for a small corpus (speech with word times) can start from what a CRF for a large one (text) says: the scores of
the other CRF's labels are given to its training as real-valued features, whose weights are learned like any others.
Scores are sums of weights of attributes, so the two CRFs together are one linear-chain CRF again: `fold` writes it
out, and tagging costs nothing more. (Stacking, Cohen & Carvalho 2005, of which the lower classifier is linear; what is
learned is a change of the prior model, as in Chelba & Acero 2006.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfpunct.attributes import AttributeIndex, split_keys
from crfpunct.chain import LinearChain
from crfpunct.errors import ModelError, TemplateError
from crfpunct.observations import EDGE, FIRST_VALUE, IntArray, Observation
from crfpunct.templates import Template

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Adapted:
    """A CRF that adds to the scores of a prior one.

    Its score of label l at a token is that of `chain`, plus constant[l], plus the prior's scores times weights[:, l].
    chain: what the attributes themselves say. weights: (K, L) from the prior's labels to the chain's. constant: (L,).
    """

    chain: LinearChain
    weights: FloatArray
    constant: FloatArray

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The chain's arrays and the two more."""
        return self.chain.to_arrays() | {"prior_weights": self.weights, "prior_constant": self.constant}

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]], chain: LinearChain, prior: LinearChain) -> Adapted:
        """From a chain that was read already; ModelError where the arrays do not fit the two chains."""
        try:
            weights, constant = arrays["prior_weights"].astype(np.float64), arrays["prior_constant"].astype(np.float64)
        except (KeyError, ValueError) as error:
            raise ModelError(f"its weights on the prior are missing ({error}); train or fetch it again.") from error
        if weights.shape != (len(prior.labels), len(chain.labels)) or constant.shape != (len(chain.labels),):
            raise ModelError(
                f"weights of shape {weights.shape} on a prior of {len(prior.labels)} labels; train or fetch it again."
            )
        return Adapted(chain, weights, constant)


def fold(prior: LinearChain, adapted: Adapted) -> LinearChain:
    """The prior and what was learned on top of it as one CRF, equal to the two in every score.

    TemplateError where no template looks at the word before alone, or where the prior has templates of its own.
    """
    chain = adapted.chain
    place_of = {template.use: m for m, template in enumerate(chain.index.templates)}
    if strange := [template for template in prior.index.templates if template.use not in place_of]:
        raise TemplateError(
            f"template {strange[0].name!r} ({strange[0]}) is the prior's alone; train both with one file."
        )
    values = {o: _union(chain.index.values[o], prior.index.values.get(o, ())) for o in chain.index.values}
    edge = _before(chain.index.templates)

    components: list[list[IntArray]] = []
    rows = [np.zeros((1, len(chain.labels)))]
    parts_of_chain = _parts(chain, values)
    parts_of_prior = dict(zip((t.use for t in prior.index.templates), _parts(prior, values), strict=True))
    taken_over = prior.weights @ adapted.weights
    index = AttributeIndex(chain.index.templates, chain.index.lexicons, values, ())
    for template, (own, ids) in zip(chain.index.templates, parts_of_chain, strict=True):
        sources = [(own, chain.weights[ids])]
        if template.use in parts_of_prior:
            theirs, their_ids = parts_of_prior[template.use]
            sources.append((theirs, taken_over[their_ids]))
        if template is edge:
            # CRFsuite's CRFs have no constant. Every token but a document's first has one before it, whose transition
            # can carry it; the first has an edge there.
            sources.append(([np.array([EDGE])], adapted.constant[None, :]))
        keys, weights = _added(index.radices(template), sources)
        components.append(split_keys(keys, index.radices(template)))
        rows.append(weights)
    folded = AttributeIndex.of_components(chain.index.templates, chain.index.lexicons, values, components)
    transition = chain.transition + adapted.constant
    return replace(chain, index=folded, weights=np.vstack(rows), transition=transition)


def _before(templates: Sequence[Template]) -> Template:
    for template in templates:
        if len(template.use) == 1 and template.use[0][1] == -1:
            return template
    raise TemplateError('a prior needs a template for the word before; add one with use = ["word[-1]"].')


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


def _added(radices: Sequence[int], sources: Sequence[tuple[list[IntArray], FloatArray]]) -> tuple[IntArray, FloatArray]:
    """The keys that any source has, ascending, and for each the sum of the sources' weights."""
    keys = []
    for parts, _ in sources:
        key = np.zeros(len(parts[0]), dtype=np.int64)
        for part, size in zip(parts, radices, strict=True):
            key = key * size + part
        keys.append(key)
    distinct, place = np.unique(np.concatenate(keys), return_inverse=True)
    weights = np.zeros((len(distinct), sources[0][1].shape[1]))
    end = 0
    for key, (_, given) in zip(keys, sources, strict=True):
        start, end = end, end + len(key)
        weights[place[start:end]] += given  # a source has a key once
    return distinct, weights
