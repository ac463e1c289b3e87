"""Documents × templates -> attribute ids: the slow, plain way.

The features of N tokens under M templates are one (N, M) int32 matrix of attribute ids, 0 where the attribute was not
seen in training. Training needs it, and the fast path (`tables`) is tested against it.

An attribute is a template with one value for each of its observations. The values are combined into one integer key
by mixed radix, and a template's attributes are its sorted keys, so that finding ids is a binary search.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crfpunct.document import Document
from crfpunct.errors import ModelError, TemplateError
from crfpunct.observations import EDGE, FIRST_VALUE, UNSEEN, IntArray, Observation, Pauses, mark_numbers, normal
from crfpunct.templates import Template

_KEY_LIMIT = 2**62


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents laid end to end.

    types: the distinct words, in their `normal` form; type_of (N,): each token's index into it.
    lengths (D,): tokens of each document. pauses: their word times; tokens without any are -1.
    """

    types: list[str]
    type_of: IntArray
    lengths: IntArray
    pauses: Pauses

    @staticmethod
    def of(documents: Sequence[Document]) -> Batch:
        numbers: dict[str, int] = {}
        type_of = np.array(
            [numbers.setdefault(normal(word), len(numbers)) for document in documents for word in document.words],
            dtype=np.int64,
        )
        types = list(numbers)
        lengths = np.array([len(document.words) for document in documents], dtype=np.int64)
        times = np.full((len(type_of), 2), -1, dtype=np.int64)
        end = 0
        for document in documents:
            start, end = end, end + len(document.words)
            if document.times_ms is not None:
                times[start:end] = document.times_ms
        characters = np.array([len(t) for t in types], dtype=np.int64)
        marks = mark_numbers((document.marks for document in documents), lengths.tolist())
        return Batch(types, type_of, lengths, Pauses(times, characters[type_of], lengths, marks))


def _shift(values: IntArray, offset: int, pauses: Pauses) -> IntArray:
    """values[t + offset], EDGE where that place is outside the token's document."""
    if offset == 0:
        return values
    place = np.arange(len(values)) + offset
    inside = (offset <= pauses.ahead) & (-offset <= pauses.behind)
    return np.where(inside, values[np.where(inside, place, 0)], EDGE)


@dataclass(frozen=True, slots=True)
class AttributeIndex:
    """The attributes of a model.

    values: per word observation, the values known, in order; value i has the number FIRST_VALUE + i.
    keys: per template, its attributes' keys, ascending (int64); attribute ids count through all templates from 1.
    """

    templates: tuple[Template, ...]
    lexicons: Mapping[str, Mapping[str, str]]
    values: Mapping[Observation, Sequence[str]]
    keys: tuple[IntArray, ...]

    @property
    def count(self) -> int:
        """How many attributes there are; ids run from 1 to this."""
        return sum(map(len, self.keys))

    def first_ids(self) -> IntArray:
        """(M,) id of each template's first attribute."""
        sizes = np.array([len(k) for k in self.keys], dtype=np.int64)
        return 1 + np.cumsum(sizes) - sizes

    def radices(self, template: Template) -> list[int]:
        """How many numbers each observation of the template has; TemplateError where the key would not fit."""
        sizes = [
            FIRST_VALUE + len(observation.pause_values() if observation.by_token else self.values[observation])
            for observation, _ in template.use
        ]
        if math.prod(sizes) >= _KEY_LIMIT:
            raise TemplateError(
                f"template {template.name!r} ({template}) has over 2^62 possible attributes; use fewer observations."
            )
        return sizes

    def columns(self, batch: Batch) -> dict[Observation, IntArray]:
        """The value of every observation at every token, (N,) each."""
        columns: dict[Observation, IntArray] = {}
        for observation in {o for template in self.templates for o, _ in template.use}:
            if observation.is_distance:
                lexicon = self.lexicons[observation.lexicon]
                listed = np.array([bool(lexicon.get(word, "")) for word in batch.types], dtype=bool)
                columns[observation] = observation.of_pauses(batch.pauses, listed[batch.type_of])
            elif observation.by_token:
                columns[observation] = observation.of_pauses(batch.pauses)
            else:
                columns[observation] = self.column(observation, batch, self.lexicons)
        return columns

    def column(self, observation: Observation, batch: Batch, lexicons: Mapping[str, Mapping[str, str]]) -> IntArray:
        """The value of an observation of words at every token, (N,), with the lexicons given."""
        number = {value: i for i, value in enumerate(self.values[observation], FIRST_VALUE)}
        of_type = [number.get(observation.of_word(word, lexicons), UNSEEN) for word in batch.types]
        return np.array(of_type, dtype=np.int64)[batch.type_of]

    def template_keys(self, template: Template, columns: Mapping[Observation, IntArray], batch: Batch) -> IntArray:
        """The template's key at every token (N,), -1 where a value was never seen."""
        key = np.zeros(len(batch.type_of), dtype=np.int64)
        unseen = np.zeros(len(key), dtype=bool)
        for (observation, offset), size in zip(template.use, self.radices(template), strict=True):
            shifted = _shift(columns[observation], offset, batch.pauses)
            key = key * size + shifted
            unseen |= shifted == UNSEEN
        key[unseen] = -1
        return key

    def transform(self, batch: Batch) -> NDArray[np.int32]:
        """Attribute ids (N, M) of the batch's tokens, 0 for attributes that are not in the index."""
        columns = self.columns(batch)
        ids = np.zeros((len(batch.type_of), len(self.templates)), dtype=np.int32)
        for m, (template, keys, first) in enumerate(zip(self.templates, self.keys, self.first_ids(), strict=True)):
            if len(keys):
                key = self.template_keys(template, columns, batch)
                place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
                ids[:, m] = np.where(keys[place] == key, first + place, 0)
        return ids

    def select(self, keep: NDArray[np.bool_]) -> AttributeIndex:
        """The index of those attributes alone for which keep (count + 1,), by id, is true; order stays."""
        components = []
        for template, keys, first in zip(self.templates, self.keys, self.first_ids(), strict=True):
            components.append(split_keys(keys[keep[first : first + len(keys)]], self.radices(template)))
        used: dict[Observation, set[int]] = {observation: set() for observation in self.values}
        for template, parts in zip(self.templates, components, strict=True):
            for (observation, _), part in zip(template.use, parts, strict=True):
                if not observation.by_token:
                    used[observation].update(np.unique(part[part >= FIRST_VALUE]).tolist())
        kept = {observation: sorted(numbers) for observation, numbers in used.items()}
        values = {o: [self.values[o][i - FIRST_VALUE] for i in numbers] for o, numbers in kept.items()}
        for template, parts in zip(self.templates, components, strict=True):
            for i, (observation, _) in enumerate(template.use):
                if not observation.by_token:
                    place = FIRST_VALUE + np.searchsorted(np.array(kept[observation], dtype=np.int64), parts[i])
                    parts[i] = np.where(parts[i] >= FIRST_VALUE, place, parts[i])
        return AttributeIndex.of_components(self.templates, self.lexicons, values, components)

    @staticmethod
    def of_components(
        templates: tuple[Template, ...],
        lexicons: Mapping[str, Mapping[str, str]],
        values: Mapping[Observation, Sequence[str]],
        components: Sequence[Sequence[IntArray]],
    ) -> AttributeIndex:
        """From each template's attributes as one array of value numbers per observation."""
        empty = tuple(np.zeros(0, dtype=np.int64) for _ in templates)
        index = AttributeIndex(templates, lexicons, values, empty)
        keys = []
        for template, parts in zip(templates, components, strict=True):
            key = np.zeros(len(parts[0]), dtype=np.int64)
            for part, size in zip(parts, index.radices(template), strict=True):
                key = key * size + part
            keys.append(key)
        return AttributeIndex(templates, lexicons, values, tuple(keys))

    def describe(self) -> list[str]:
        """Every attribute as ``template: observation[offset]=value …``, by id; place 0 is the unseen one."""
        shown = ["(unseen)"]
        for template, keys in zip(self.templates, self.keys, strict=True):
            columns = []
            for (observation, offset), part in zip(template.use, split_keys(keys, self.radices(template)), strict=True):
                known = observation.pause_values() if observation.by_token else self.values[observation]
                names = ["(unseen)", "(edge)", *known]
                columns.append([f"{observation}[{offset}]={names[i]}" for i in part])
            shown += [f"{template.name}: " + " ".join(row) for row in zip(*columns, strict=True)]
        return shown

    # ---- arrays for a model folder

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The index as plain arrays: value strings as UTF-8 lines, attributes as value numbers, both end to end."""
        arrays: dict[str, NDArray[np.generic]] = {}
        observations = _word_observations(self.templates)
        texts = ["\n".join(self.values[o]).encode() for o in observations]
        arrays["value_text"] = np.frombuffer(b"".join(texts), dtype=np.uint8)
        arrays["value_bytes"] = np.array([len(t) for t in texts], dtype=np.int64)
        arrays["value_count"] = np.array([len(self.values[o]) for o in observations], dtype=np.int64)
        parts = [
            part
            for template, keys in zip(self.templates, self.keys, strict=True)
            for part in split_keys(keys, self.radices(template))
        ]
        kind = np.uint16 if all(part.max(initial=0) < 2**16 for part in parts) else np.uint32
        # Differences compress to half the size; those below zero wrap around, and adding up wraps back.
        flat = np.concatenate([np.diff(part, prepend=0) for part in parts]) if parts else np.zeros(0, dtype=np.int64)
        arrays["key_parts"] = flat.astype(kind)
        arrays["key_count"] = np.array([len(k) for k in self.keys], dtype=np.int64)
        return arrays

    @staticmethod
    def from_arrays(
        arrays: Mapping[str, NDArray[np.generic]],
        templates: tuple[Template, ...],
        lexicons: Mapping[str, Mapping[str, str]],
    ) -> AttributeIndex:
        """The inverse of `to_arrays`; ModelError where the arrays do not fit together."""
        try:
            raw = arrays["value_text"].tobytes()
            values: dict[Observation, Sequence[str]] = {}
            position = 0
            observations = _word_observations(templates)
            for observation, size, count in zip(
                observations, arrays["value_bytes"].tolist(), arrays["value_count"].tolist(), strict=True
            ):
                text = raw[position : position + size].decode()
                values[observation] = text.split("\n") if count else []
                if len(values[observation]) != count:
                    raise ValueError(f"{len(values[observation])} values of {observation}, expected {count}")
                position += size
            flat = arrays["key_parts"]
            components, position = [], 0
            for template, count in zip(templates, arrays["key_count"].tolist(), strict=True):
                width = len(template.use)
                differences = flat[position : position + width * count].reshape(width, count)
                components.append(list(np.cumsum(differences, axis=1, dtype=flat.dtype).astype(np.int64)))
                position += width * count
            if position != len(flat):
                raise ValueError(f"{len(flat)} parts of keys, expected {position}")
            index = AttributeIndex(templates, lexicons, values, tuple(np.zeros(0, dtype=np.int64) for _ in templates))
            for template, parts in zip(templates, components, strict=True):
                for part, size in zip(parts, index.radices(template), strict=True):
                    if part.max(initial=0) >= size:
                        raise ValueError(f"value {part.max()} in template {template.name!r}, expected less than {size}")
            return AttributeIndex.of_components(templates, lexicons, values, components)
        except (KeyError, ValueError, UnicodeDecodeError) as error:
            raise ModelError(
                f"its attribute arrays do not fit its templates ({error}); train or fetch it again."
            ) from error


def _word_observations(templates: tuple[Template, ...]) -> list[Observation]:
    """The word observations used, in order of first use."""
    return list(dict.fromkeys(o for template in templates for o, _ in template.use if not o.by_token))


def split_keys(keys: IntArray, radices: Sequence[int]) -> list[IntArray]:
    """Keys back into the value numbers that they were made of."""
    parts = []
    for size in reversed(radices[1:]):
        keys, part = np.divmod(keys, size)
        parts.append(part)
    return [keys, *reversed(parts)]


@dataclass(frozen=True, slots=True)
class Apart:
    """Lexicons learned from a training set: each part of it is looked up in what all other parts tell.

    What a text tells about its own words is more than a new text can be told. lexicons: per part, by name. part_of
    (N,): the part of each token.
    """

    lexicons: Sequence[Mapping[str, Mapping[str, str]]]
    part_of: IntArray


def fit(
    batch: Batch,
    templates: tuple[Template, ...],
    lexicons: Mapping[str, Mapping[str, str]],
    apart: Apart | None = None,
) -> tuple[AttributeIndex, NDArray[np.int32]]:
    """Collect the attributes of a training set; returns the index and the ids (N, M) of the same tokens.

    An attribute seen less than its template's `min_count` times is left out. Values are sorted, so the same texts
    give the same index. apart: looked up instead of the lexicons of the same names, which are those of new texts.
    """
    looked_up = [lexicons, *({**lexicons, **own} for own in (apart.lexicons if apart else ()))]
    values = {
        observation: sorted({observation.of_word(word, known) for known in looked_up for word in batch.types})
        if observation.lexicon
        else sorted({observation.of_word(word, lexicons) for word in batch.types})
        for observation in _word_observations(templates)
    }
    index = AttributeIndex(templates, lexicons, values, tuple(np.zeros(0, dtype=np.int64) for _ in templates))
    columns = index.columns(batch)
    for part, known in enumerate(looked_up[1:]):
        for observation in columns:
            if apart and observation.lexicon in apart.lexicons[part]:
                here = apart.part_of == part
                columns[observation] = np.where(here, index.column(observation, batch, known), columns[observation])
    ids = np.zeros((len(batch.type_of), len(templates)), dtype=np.int32)
    kept_keys: list[IntArray] = []
    first = 1
    for m, template in enumerate(templates):
        keys, inverse, counts = np.unique(
            index.template_keys(template, columns, batch), return_inverse=True, return_counts=True
        )
        keep = counts >= template.min_count
        number = np.where(keep, first - 1 + np.cumsum(keep), 0)
        ids[:, m] = number[inverse]
        kept_keys.append(keys[keep])
        first += int(keep.sum())
    return AttributeIndex(templates, lexicons, values, tuple(kept_keys)), ids
