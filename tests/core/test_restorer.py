"""Models applied to documents: which of two chains, in batches, from a folder."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfpunct import model_folder, restorer
from crfpunct.document import Document
from crfpunct.errors import CorpusError, ModelError
from crfpunct.estimators import PunctuationCRF
from crfpunct.marks import Typography, split_mark, strip
from crfpunct.model_folder import ModelFolder, _manifest_sum, pack
from crfpunct.punctuator import Punctuator
from crfpunct.restorer import Restorer
from crfpunct.stream import Stream, _outlook

FEATURES = '[text]\ndash = "—"\n[[template]]\nname = "w"\nuse = ["word[0]"]\n[[template]]\nname = "g"\nuse = ["gap[0]"]'


def timed(*words: str, gaps=(), marks=None) -> Document:
    """Words of 100 ms each with the gaps given between them, and none further on."""
    gap_before = np.array([0, *gaps, *[0] * (len(words) - 1 - len(gaps))][: len(words)], dtype=np.int64)
    starts = np.cumsum(gap_before) + 100 * np.arange(len(words))
    return Document("", list(words), np.stack([starts, starts + 100], axis=1), marks)


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
    # Nor does a word without a length say where the gap behind it begins.
    for no_length, expected in ([0, 1], "timed"), ([0, 1, 2], "text"):
        spoken = timed("ala", "ma", "kota", "tak", "ala")
        spoken.times_ms[no_length, 1] = spoken.times_ms[no_length, 0]
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


def test_marks_that_stand_alone_are_marks_too(chains):
    model = Restorer(Punctuator(**chains), Typography(), {})
    assert model.restore("ala ma kota . tak !") == "ala ma kota . tak !"
    assert model.restore("- ala ma kota - tak") == "- ala ma kota - tak."
    assert model.restore("...") == "..."


KEPT = ["ala, ma", "-5 3.5 10:30", "U.S. J. 5. 9-11", "ala; tak?", "C++ R&D", "..."]


@pytest.mark.parametrize("text", KEPT)
def test_what_is_not_the_models_to_decide_stays(chains, text):
    # The model knows the full stop alone.
    model = Restorer(Punctuator(**chains), Typography(), {})
    for replace_marks in (False, True):
        assert model.restore(text, replace_marks=replace_marks).split()[:-1] == text.split()[:-1]


def test_marks_are_decided_again(chains):
    model = Restorer(Punctuator(**chains), Typography(), {})
    assert model.restore("ala. ma. kota tak", replace_marks=True) == "ala ma kota. tak."
    assert model.restore("ala .  ma\n. kota", replace_marks=True) == "ala  ma\nkota."
    assert model.restore("- ala - ma", replace_marks=True) == "- ala - ma"  # no mark of the model's own
    spoken = timed("ala", ".", "ma", gaps=(900, 0), marks=["", "", "."])
    again = model.restore(spoken, replace_marks=True)
    assert (again.words, again.marks, again.times_ms.tolist()) == (["ala", "ma"], [".", ""], [[0, 100], [1100, 1200]])
    assert spoken.words == ["ala", ".", "ma"]


def test_words_that_training_writes_with_a_dot_keep_it(chains):
    model = Restorer(Punctuator(**chains), Typography(), {})
    assert model.punctuator.abbreviated("kota")
    assert not model.punctuator.abbreviated("ala")
    assert model.restore("ala. kota. ma.", replace_marks=True) == "ala kota. ma"


def test_marks_in_a_column_stay_unless_they_are_decided_again(chains):
    model = Restorer(Punctuator(**chains), Typography(), {})
    document = Document("", ["ala", "ma", "kota", "tak"], marks=["", ",", "!", ""])
    [kept] = model.tag([document])
    assert kept.marks == ["", ",", "!", "."]
    [again] = model.tag([document], replace_marks=True)
    assert again.marks == ["", "", ".", "."]
    assert document.marks == ["", ",", "!", ""]


awkward = st.lists(st.sampled_from(["ala", "kota", "kota.", "ma,", ".", "-", "tak?!", "5.", "U.S."]), max_size=7)


@settings(max_examples=60)
@given(awkward, st.booleans(), st.sampled_from([" ", "  ", "\n"]))
def test_no_two_marks_in_a_row_and_no_word_altered(chains, drawn, replace_marks, space):
    model = Restorer(Punctuator(**chains), Typography(), {})
    text = space.join(drawn)
    restored = model.restore(text, replace_marks=replace_marks)
    bare = [split_mark(word)[0] for word in restored.split()]
    assert [word for word in bare if word] == [split_mark(word)[0] for word in drawn if split_mark(word)[0]]
    before, after = strip(drawn)[1], strip(restored.split())[1]
    assert all(len(new) <= max(len(old), 1) for old, new in zip(before, after, strict=True))
    if not replace_marks:
        assert all(new.startswith(old) for old, new in zip(before, after, strict=True))


def test_probabilities_are_those_of_the_marks_that_stand_there(chains):
    model = Restorer(Punctuator(**chains), Typography(), {})
    [found] = model.tag([Document("", ["ala", "ma.", "kota", ".", "tak", "ala;"])], probabilities=True)
    shares = model.punctuator.marginals([Document("", ["ala", "ma.", "kota", "tak", "ala;"])])[0]
    assert found.marks == ["", "", "", "", ".", ""]
    expected = [shares[0, 0], shares[1, 1], shares[2, 1], np.nan, shares[3, 1], np.nan]
    np.testing.assert_allclose(found.probabilities, expected)


def test_restore_gives_back_what_it_got(chains):
    model = Restorer(Punctuator(**chains), Typography(), {})
    document = Document("", ["ala", "ma", "kota"])
    assert model.restore(["ala ma kota", "", " tak"]) == ["ala ma kota.", "", " tak."]
    assert model.restore(document).marks == ["", "", "."]
    assert [found.marks for found in model.restore([document, document])] == [["", "", "."]] * 2
    assert model.restore([]) == []


# ---------------------------------------------------------------- streams


def test_what_is_ready_is_tagged_at_once(chains):
    read = []

    def coming():
        for i in range(4):
            read.append(i)
            yield Document(str(i), ["ala"])

    answers = iter([True, False, True, True])
    tagged = Restorer(Punctuator(**chains), Typography(), {}).tag(coming(), ready=lambda: next(answers))
    assert [next(tagged).id, next(tagged).id, len(read)] == ["0", "1", 2]
    assert [document.id for document in tagged] == ["2", "3"]


@pytest.fixture(scope="module", params=["", '[train]\nsplit = ["?"]\n'], ids=["one neutral state", "two"])
def wide(request, tmp_path_factory):
    """A chain whose labels hang together and whose features look two words ahead, and one that looks at pauses."""
    path = tmp_path_factory.mktemp("features") / "wide.toml"
    use = ['["word[0]"]', '["word[1]"]', '["word[2]"]', '["word[-1]", "word[1]"]', '["gap[0]"]', '["gap[1]"]']
    templates = [f'[[template]]\nname = "t{i}"\nuse = {u}\n' for i, u in enumerate(use)]
    path.write_text(request.param + "".join(templates), encoding="utf-8")
    generator = np.random.default_rng(0)
    documents = []
    for _ in range(40):
        words = generator.choice(["ala", "ma", "kota", "tak", "nie"], 8).tolist()
        gaps = generator.choice([0, 100, 900], 7).tolist()
        end = "?" if words[0] == "nie" else "."
        marks = [(end if g > 500 else "," if w == "tak" else "") for w, g in zip(words, [*gaps, 900], strict=True)]
        documents.append(timed(*words, gaps=gaps, marks=marks))
    options = {"c1": 0.0, "c2": 1e-1}
    return Punctuator(
        PunctuationCRF(path, use_times=False, **options).fit(documents).chain_,
        PunctuationCRF(path, **options).fit(documents).chain_,
    )


spoken_words = st.sampled_from(["ala", "ma", "kota", "tak", "nie", "inny"])
utterances = st.lists(st.tuples(spoken_words, st.sampled_from([0, 100, 900])), max_size=20)


@settings(max_examples=60)
@given(utterances, st.booleans(), st.integers(0, 30))
def test_a_stream_waits_no_longer_than_it_may_and_decides_what_the_whole_text_would(wide, drawn, with_times, lookahead):
    words = [word for word, _ in drawn]
    document = timed(*words, gaps=[gap for _, gap in drawn[1:]]) if with_times else Document("", words)
    rows = document.times_ms.tolist() if with_times else [[-1, -1]] * len(words)
    stream = Stream(wide, lookahead)
    given_back = []
    latest = 0
    for i, (word, row) in enumerate(zip(words, rows, strict=True)):
        given_back += stream.put(word, *row)
        latest = max(latest, i + 1 - len(given_back))
        assert latest <= lookahead
    given_back += stream.end()
    assert [word for word, _ in given_back] == words
    if latest < lookahead:  # nothing was forced
        assert [mark for _, mark in given_back] == wide.marks([document])[0]
    items = [(word, *row) for word, row in zip(words, rows, strict=True)]
    model = Restorer(wide, Typography(), {})
    assert list(model.stream(items, lookahead)) == given_back


def test_most_words_wait_for_what_their_features_look_at_and_little_more(wide):
    stream = Stream(wide, 100)
    waits = [i + 1 - len(given) for i, given in enumerate(_growing(stream, ["ala", "ma", "kota", "nie"] * 50))]
    # Which mark ends a sentence is open for longer where states tell what kind of sentence it is.
    assert np.mean(waits) < (4 if len(wide.text.states) == len(wide.text.distinct) else 8)


def _growing(stream, words):
    given = []
    for word in words:
        given += stream.put(word)
        yield given


def test_a_long_stream_forgets_its_beginning(wide):
    words = ["ala", "ma", "kota", "tak", "nie"] * 200
    stream = Stream(wide, 12)
    given = list(_growing(stream, words))[-1]
    assert len(stream._words) <= 2 * (Stream.WINDOW + 12)
    given += stream.end()
    assert [mark for _, mark in given] == wide.marks([Document("", words)])[0]
    # The next text begins afresh.
    assert stream.put("ala") == []
    assert [word for word, _ in stream.end()] == ["ala"]


def test_pauses_that_are_compared_with_the_whole_text_wait_for_the_look_ahead(tmp_path, chains):
    path = tmp_path / "rank.toml"
    path.write_text('[[template]]\nname = "r"\nuse = ["rank[0]"]', encoding="utf-8")
    punctuator = Punctuator(chains["text"], PunctuationCRF(path, c1=0.0, c2=1e-2).fit(SPOKEN).chain_)
    document = timed("ala", "ma", "kota", "tak", "ala", gaps=(900, 0, 0, 900))
    stream = Stream(punctuator, 3)
    given = [stream.put(word, *row) for word, row in zip(document.words, document.times_ms.tolist(), strict=True)]
    assert [len(words) for words in given] == [0, 0, 0, 1, 1]
    assert len(stream.end()) == 3
    stream = Stream(punctuator, 5)
    items = [(word, *row) for word, row in zip(document.words, document.times_ms.tolist(), strict=True)]
    found = [mark for _, mark in Restorer(punctuator, Typography(), {}).stream(items, 5)]
    assert found == punctuator.marks([document])[0]


def test_marks_that_words_of_a_stream_carry(chains):
    model = Restorer(Punctuator(**chains), Typography(), {})
    words = ["-", "ala", "ma", "kota", ".", "tak?", "kota"]
    expected = [("-", ""), ("ala", ""), ("ma", ""), ("kota", ""), (".", ""), ("tak?", ""), ("kota", ".")]
    assert list(model.stream(words)) == expected


def test_a_look_ahead_below_zero(chains):
    with pytest.raises(ValueError, match="a look-ahead of -1 words"):
        Stream(Punctuator(**chains), -1)


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["ala", "kota", "tak", ".", " ", "  ", "\n", "ż"]), max_size=12).map("".join),
    st.lists(st.integers(0, 30), max_size=4).map(sorted),
)
def test_a_text_that_flows_in_pieces(chains, text, cuts):
    model = Restorer(Punctuator(**chains), Typography(), {})
    pieces = [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])]
    assert "".join(model.flow([*pieces], 50)) == model.restore(text)


def test_dashes_that_flow(tmp_path):
    path = tmp_path / "dash.toml"
    path.write_text('[[template]]\nname = "w"\nuse = ["word[0]"]', encoding="utf-8")
    text = Document("", ["polsko", "niemiecki", "tak", "rzekł"], marks=["-", "", "-", ""])
    chain = PunctuationCRF(path, c1=0.0, c2=1e-2).fit([text] * 3).chain_
    model = Restorer(Punctuator(chain), Typography(frozenset({"polsko"})), {})
    for whole in ("polsko niemiecki tak rzekł tak\n", "polsko  niemiecki\n tak", "polsko"):
        assert "".join(model.flow([*whole])) == model.restore(whole)
    assert model.restore("polsko niemiecki tak rzekł tak\n") == "polsko-niemiecki tak – rzekł tak –\n"


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
    assert refused(folder).startswith(": has neither a punctuation nor a case part; train one with")


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


@pytest.mark.parametrize("labels", [["", True], ["", ["."]], ".,"])
def test_labels_that_are_no_strings(folder, labels):
    rewrite_manifest(folder, lambda manifest: manifest["punct"]["chains"]["text"].update(labels=labels))
    assert "does not describe its files (labels " in refused(folder)


def test_documents_are_checked(folder):
    restored = restorer.load(folder).restore
    for times, message in (
        (np.array([[0, 1]]), r"^x: word times of shape \(1, 2\) for 2 words"),
        (np.array([[0.0, 0.5], [1.0, 1.5]]), r"^x: word times that are no array of whole numbers, of ms"),
        ([[0, 1], [2, 3]], r"^x: word times that are no array of whole numbers, of ms"),
    ):
        with pytest.raises(CorpusError, match=message):
            restored(Document("x", ["ala", "ma"], times))


def test_a_name_that_is_not_shipped():
    with pytest.raises(ModelError, match=r"^xx: no such model file or folder, and none of that name is shipped"):
        restorer.load("xx")


@pytest.mark.parametrize(("use", "local"), [("word[2]", True), ("since.said[0]", False), ("until.said[0]", False)])
def test_a_stream_knows_what_looks_at_the_whole_text(tmp_path, use, local):
    (tmp_path / "said.txt").write_text("ma\n")
    path = tmp_path / "mine.toml"
    path.write_text(f'[lexicon]\nsaid = "said.txt"\n[[template]]\nname = "t"\nuse = ["{use}"]\n')
    text = Document("", ["ala", "ma", "kota", "tak"], marks=["", ",", "", "."])
    chain = PunctuationCRF(path, use_times=False, c1=0.0).fit([text] * 3).chain_
    assert _outlook(chain)[1] is local
