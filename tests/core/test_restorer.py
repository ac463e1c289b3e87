"""Models applied to documents: which of two chains, in batches, from a folder."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfpunct import model_folder, restorer
from crfpunct.document import Document
from crfpunct.errors import ModelError
from crfpunct.estimators import PunctuationCRF
from crfpunct.marks import Typography
from crfpunct.model_folder import ModelFolder, _manifest_sum, pack
from crfpunct.restorer import Punctuator, Restorer

FEATURES = '[text]\ndash = "—"\n[[template]]\nname = "w"\nuse = ["word[0]"]\n[[template]]\nname = "g"\nuse = ["gap[0]"]'


def timed(*words: str, gaps=(), marks=None) -> Document:
    starts = np.cumsum([0, *gaps, *[0] * (len(words) - 1 - len(gaps))]) if words else np.zeros(0, dtype=np.int64)
    return Document("", list(words), np.stack([starts, starts], axis=1).astype(np.int64), marks)


#: Without times "kota" ends a sentence; with times a long gap does.
TEXTS = [Document("", ["ala", "ma", "kota", "tak"], marks=["", "", ".", "."])] * 3
SPOKEN = [timed("ala", "ma", "kota", "tak", gaps=(0, 900, 0), marks=["", ".", "", ""])] * 3


@pytest.fixture(scope="module")
def feature_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("features") / "mine.toml"
    path.write_text(FEATURES, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def chains(feature_file):
    options = {"c1": 0.0, "c2": 1e-2}
    return {
        "text": PunctuationCRF(feature_file, use_times=False, **options).fit(TEXTS).chain_,
        "timed": PunctuationCRF(feature_file, **options).fit(SPOKEN).chain_,
    }


@pytest.fixture
def folder(tmp_path, feature_file, chains):
    described = {name: {"file": f"punct-{name}.npz", "labels": list(c.labels)} for name, c in chains.items()}
    files = {f"punct-{name}.npz": pack(chain.to_arrays()) for name, chain in chains.items()}
    files["templates/mine.toml"] = feature_file.read_bytes()
    part = {"features": "mine", "chains": described, "joined_parts": ["polsko"]}
    model_folder.write(tmp_path / "m", ModelFolder({"punct": part}, files))
    return tmp_path / "m"


def rewrite_manifest(folder, change) -> None:
    """A manifest with a change, as a program would write it that knows how to add it up."""
    manifest = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    change(manifest)
    manifest["sha256"]["model.json"] = _manifest_sum(manifest)
    (folder / "model.json").write_text(json.dumps(manifest))


words = st.lists(st.sampled_from(["ala", "ma", "kota", "tak", "nikt"]), max_size=5)
documents = words.map(lambda drawn: Document("", drawn)) | st.tuples(
    words, st.lists(st.sampled_from([0, 900]), max_size=3)
).map(lambda drawn: timed(*drawn[0], gaps=drawn[1][: max(len(drawn[0]) - 1, 0)]))


@settings(max_examples=50)
@given(st.lists(documents, max_size=5))
def test_documents_of_both_kinds_come_back_in_order(chains, mixed):
    punctuator = Punctuator(**chains)
    assert punctuator.marks(mixed) == [punctuator.marks([document])[0] for document in mixed]
    shares = punctuator.marginals(mixed)
    assert [share.shape for share in shares] == [(len(d.words), 2) for d in mixed]
    for document, share in zip(mixed, shares, strict=True):
        np.testing.assert_allclose(share, punctuator.marginals([document])[0], rtol=1e-12, atol=1e-15)


def test_times_choose_the_chain(chains):
    punctuator = Punctuator(**chains)
    spoken = timed("ala", "ma", "kota", "tak", gaps=(900, 0, 0))
    assert punctuator.marks([spoken, TEXTS[0]]) == [[".", "", "", ""], ["", "", ".", "."]]
    # With half of its gaps unknown a document still counts as spoken, with more it is text.
    for unknown, expected in ([4], "timed"), ([3, 4], "timed"), ([2, 3, 4], "text"):
        spoken = timed("ala", "ma", "kota", "tak", "ala")
        spoken.times_ms[unknown] = -1
        assert punctuator.chain_for(spoken) is chains[expected]
    assert punctuator.chain_for(timed("ala")) is punctuator.chain_for(timed()) is chains["text"]
    assert Punctuator(chains["text"]).chain_for(spoken) is chains["text"]


@settings(max_examples=30)
@given(st.lists(documents, max_size=8), st.integers(1, 7))
def test_the_size_of_a_batch_changes_nothing(chains, mixed, size):
    model = Restorer(Punctuator(**chains), Typography(), {})
    expected = Punctuator(**chains).marks(mixed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(restorer, "BATCH_TOKENS", size)
        found = list(model.tag(iter(mixed)))
    assert [document.marks for document in found] == expected
    for document, original in zip(found, mixed, strict=True):
        assert (document.words, document.times_ms is original.times_ms) == (original.words, True)
        assert original.marks is None


def test_tagging_reads_no_further_ahead_than_a_batch(chains, monkeypatch):
    monkeypatch.setattr(restorer, "BATCH_TOKENS", 4)
    read = []

    def stream():
        for i in range(10):
            read.append(i)
            yield Document(str(i), ["ala", "ma"])

    tagged = Restorer(Punctuator(**chains), Typography(), {}).tag(stream())
    assert next(tagged).id == "0"
    assert read == [0, 1]


def test_a_word_that_carries_a_mark_gets_no_second_one(chains):
    model = Restorer(Punctuator(**chains), Typography(), {})
    assert model.restore("ala ma kota tak") == "ala ma kota. tak."
    assert model.restore("ala ma kota? tak.") == "ala ma kota? tak."


def test_white_space_stays_and_words_are_split_at_ascii_white_space_alone(chains):
    model = Restorer(Punctuator(**chains), Typography(), {})
    assert model.restore(" ala\tma  kota\n\ntak\r\n") == " ala\tma  kota.\n\ntak.\r\n"
    assert model.restore("ala\u00a0ma kota") == "ala\u00a0ma kota."


def test_nothing_to_restore(chains):
    model = Restorer(Punctuator(**chains), Typography(), {})
    assert [model.restore(text) for text in ("", " ", " \n")] == ["", " ", " \n"]
    assert list(model.tag([])) == []
    assert [document.marks for document in model.tag([Document("", [])])] == [[]]


# ---------------------------------------------------------------- from a folder


def test_a_folder_is_loaded(folder, chains):
    model = restorer.load(folder)
    assert model.restore("ala ma kota tak") == "ala ma kota. tak."
    assert model.typography == Typography(frozenset({"polsko"}), "—")
    expected = Punctuator(**chains).marks(TEXTS + SPOKEN)
    assert model.punctuator.marks(TEXTS + SPOKEN) == expected
    assert restorer.load(str(folder)).manifest == model.manifest


def refused(folder) -> str:
    with pytest.raises(ModelError) as caught:
        restorer.load(folder)
    assert str(caught.value).startswith(str(folder))
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(folder))


def test_a_model_without_punctuation(folder):
    rewrite_manifest(folder, lambda manifest: manifest.pop("punct"))
    assert refused(folder).startswith(": has no punctuation part; train one with")


def test_a_damaged_model_names_the_file(folder):
    path = folder / "punct-text.npz"
    path.write_bytes(path.read_bytes()[:-1])
    assert refused(folder).startswith("/punct-text.npz: altered or truncated (sha256 ")


def test_arrays_that_do_not_fit_name_the_folder(folder):
    rewrite_manifest(folder, lambda manifest: manifest["punct"]["chains"]["text"]["labels"].append("?"))
    assert refused(folder).startswith(": its weights do not fit its attributes (")


def test_a_manifest_that_was_altered(folder):
    raw = (folder / "model.json").read_text(encoding="utf-8")
    (folder / "model.json").write_text(raw.replace('"."', '"?"'), encoding="utf-8")
    assert refused(folder).startswith("/model.json: altered: its checksum is not the one it states; train it again")


@pytest.mark.parametrize(
    "change",
    [
        lambda part: part.pop("features"),
        lambda part: part.pop("joined_parts"),
        lambda part: part.pop("chains"),
        lambda part: part.update(features=1),
        lambda part: part.update(features="other"),
        lambda part: part.update(joined_parts=None),
        lambda part: part.update(chains={}),
        lambda part: part.update(chains={"texts": part["chains"]["text"]}),
        lambda part: part["chains"]["text"].pop("labels"),
        lambda part: part["chains"].update(text=1),
    ],
)
def test_a_manifest_that_does_not_describe_its_files(folder, change):
    rewrite_manifest(folder, lambda manifest: change(manifest["punct"]))
    assert refused(folder).startswith(": its model.json does not describe its files (")


def test_a_manifest_whose_part_is_no_object(folder):
    rewrite_manifest(folder, lambda manifest: manifest.update(punct=[1]))
    assert refused(folder).startswith(": its model.json does not describe its files (")


def test_templates_that_are_not_listed(folder):
    rewrite_manifest(folder, lambda manifest: manifest["sha256"].pop("templates/mine.toml"))
    assert "mine.toml: not among the model's copies of its feature files" in refused(folder)


def test_templates_come_from_the_folder_alone(folder, tmp_path):
    # The manifest cannot make us read what no checksum covers.
    (tmp_path / "mine.toml").write_text("[[template]]\nname = 'w'\nuse = ['word[1]']", encoding="utf-8")
    expected = restorer.load(folder).punctuator.text.index.templates
    rewrite_manifest(folder, lambda manifest: manifest["punct"].update(features=str(tmp_path / "mine")))
    assert restorer.load(folder).punctuator.text.index.templates == expected
    rewrite_manifest(folder, lambda manifest: manifest["punct"].update(features="punct"))
    assert "punct.toml: not among the model's copies of its feature files" in refused(folder)


def test_arrays_that_are_not_listed(folder):
    rewrite_manifest(folder, lambda manifest: manifest["sha256"].pop("punct-text.npz"))
    assert refused(folder).startswith(": punct-text.npz: cannot be read as arrays (")


def test_a_name_that_is_not_shipped():
    with pytest.raises(ModelError, match=r"^xx: no such model file or folder, and none of that name is shipped"):
        restorer.load("xx")
