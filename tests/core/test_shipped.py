"""The shipped models decide as CRFsuite does with the same weights."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pycrfsuite
import pytest

import crfpunct
from crfpunct import decoding, formats
from crfpunct.attributes import Batch
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.formats.clntmstmp import Times
from crfpunct.tables import Tables

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples" / "wikipunct"
RECORD = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])


def crfsuite_with(chain: LinearChain, path: Path) -> pycrfsuite.Tagger:
    """CRFsuite's own tagger with a chain's weights.

    CRFsuite reads no weights from outside, so it is trained for a moment on a text that has each attribute with each
    of its labels, and then the weights in its file are replaced by ours.
    """
    trainer = pycrfsuite.Trainer("lbfgs", {"c1": 0.0, "max_iterations": 1, "feature.possible_transitions": True}, False)
    rows, columns = np.nonzero(chain.weights)
    trainer.append([[str(row)] for row in rows.tolist()], [str(column) for column in columns.tolist()])
    # Once more with its first label, and with force: an attribute gets no weight for a label that it has as often as
    # chance would have it.
    once, first = np.unique(rows, return_index=True)
    force = 2.0 * len(chain.labels)
    trainer.append([{str(row): force} for row in once.tolist()], [str(column) for column in columns[first].tolist()])
    trainer.append([["0"]] * len(chain.labels), [str(label) for label in range(len(chain.labels))])
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    info = tagger.info()
    tagger.close()
    raw = bytearray(path.read_bytes())
    (offset,) = struct.unpack_from("<I", raw, 28)
    _, size, _ = struct.unpack_from("<4sII", raw, offset)
    records = np.frombuffer(raw, RECORD, (size - 12) // RECORD.itemsize, offset + 12)
    label = np.zeros(len(info.labels), dtype=np.int64)
    label[[int(number) for number in info.labels.values()]] = [int(name) for name in info.labels]
    attribute = np.zeros(len(info.attributes), dtype=np.int64)
    attribute[[int(number) for number in info.attributes.values()]] = [int(name) for name in info.attributes]
    state = records["type"] == 0
    source, target = records["source"], label[records["target"]]
    records["weight"][state] = chain.weights[attribute[source[state]], target[state]]
    records["weight"][~state] = chain.transition[label[source[~state]], target[~state]]
    assert state.sum() >= len(rows)
    assert (~state).sum() == chain.transition.size
    path.write_bytes(raw)
    tagger.open(str(path))
    return tagger


def texts() -> list[Document]:
    return list(Times(EXAMPLES / "fa").attach(formats.read(EXAMPLES / "in.tsv")))


@pytest.mark.parametrize("name", ["text", "timed", "case"])
def test_the_shipped_model_is_crfsuites(name, tmp_path):
    restorer = crfpunct.load("pl")
    chain = restorer.truecaser.chain if name == "case" else getattr(restorer.punctuator, name)
    tagger = crfsuite_with(chain, tmp_path / "model.crfsuite")
    unbiased = replace(chain, bias=np.zeros(len(chain.states)))
    documents = texts()
    for document, found in zip(documents, Tables(unbiased).decode(documents), strict=True):
        ids = chain.index.transform(Batch.of([document]))
        tagger.set([[str(i) for i in row if i] for row in ids.tolist()])
        assert found == [chain.labels[int(label)] for label in tagger.tag()]
        shares = decoding.marginals(chain.emissions([document]), chain.transition, np.array([len(ids)]))
        for t, label in [(0, 0), (len(ids) // 2, 1), (len(ids) - 1, 1)]:
            np.testing.assert_allclose(tagger.marginal(str(label), t), shares[t, label], rtol=0, atol=1e-6)


def test_the_fast_path_is_the_plain_way():
    restorer = crfpunct.load("pl")
    for chain in (restorer.punctuator.text, restorer.punctuator.timed, restorer.truecaser.chain):
        documents = texts()
        emission, starts, lengths = Tables(chain).emissions(documents)
        found = np.concatenate([emission[s : s + n] for s, n in zip(starts, lengths, strict=True)])
        plain = chain.emissions(documents)
        assert {numbers.dtype for numbers in chain.leads()} == {np.dtype(np.float32)}
        np.testing.assert_array_equal(found, plain - plain[:, :1])
