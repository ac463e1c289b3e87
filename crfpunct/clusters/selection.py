"""Which attributes to train with, so that a model can be cut to a size: document frequency, then chi-squared.

Yang & Pedersen (1997) compare these and other rankings: rare attributes can go, and chi-squared ranks the rest well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crfpunct.clusters.backend import Backend, ScikitLearn

IntArray = NDArray[np.int64]


def document_frequency(ids: NDArray[np.int32], lengths: IntArray, count: int) -> IntArray:
    """In how many documents each attribute occurs, (count + 1,) by id; place 0 stays 0.

    ids (N, M): attribute ids from 1 to `count`, 0 for none; lengths (D,): tokens of each document, N in all.
    """
    owner = np.repeat(np.arange(len(lengths)), lengths)
    frequency = np.zeros(count + 1, dtype=np.int64)
    for column in ids.T:
        # An attribute belongs to one template, so columns have no ids in common.
        present = column > 0
        pairs = np.unique(owner[present] * (count + 1) + column[present])
        frequency += np.bincount(pairs % (count + 1), minlength=count + 1)
    return frequency


def occurrences(ids: NDArray[np.int32], labels: IntArray, count: int, label_count: int) -> NDArray[np.float64]:
    """How often each attribute occurs with each label: (label_count, count + 1) by label and id."""
    observed = np.zeros((label_count, count + 1), dtype=np.float64)
    for column in ids.T:
        pairs = np.bincount(labels * (count + 1) + column, minlength=label_count * (count + 1))
        observed += pairs.reshape(label_count, count + 1)
    observed[:, 0] = 0
    return observed


def select(
    ids: NDArray[np.int32],
    lengths: IntArray,
    labels: IntArray,
    count: int,
    *,
    most_attributes: int | None = None,
    min_documents: int = 1,
    backend: Backend | None = None,
) -> NDArray[np.bool_]:
    """Which attributes to keep: (count + 1,) by id, as `AttributeIndex.select` takes it; place 0 is False.

    ids (N, M): attribute ids from 1 to `count`, 0 for none, an attribute in one column only. lengths (D,): tokens of
    each document. labels (N,): label numbers from 0. Attributes of fewer than `min_documents` documents go first; of
    the others the `most_attributes` stay whose chi-squared with the labels is largest (ties: the lower id).
    """
    keep = document_frequency(ids, lengths, count) >= max(min_documents, 1)
    if most_attributes is None or keep.sum() <= most_attributes:
        return keep
    label_counts = np.bincount(labels).astype(np.float64)
    observed = occurrences(ids, labels, count, len(label_counts))
    scores = (backend or ScikitLearn()).chi2(observed, label_counts)
    scores[~keep] = -1
    # A stable sort of the negated scores keeps the lower id in front.
    keep[np.argsort(-scores, kind="stable")[most_attributes:]] = False
    return keep


def renumber(ids: NDArray[np.int32], keep: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The ids (N, M) as they are when only the attributes of keep (A + 1,) are left; 0 for the others."""
    numbers = np.where(keep, np.cumsum(keep), 0).astype(np.int32)
    renumbered: NDArray[np.int32] = numbers[ids]
    return renumbered
