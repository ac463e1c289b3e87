"""`crfpunct train`, and the main job from a corpus to a score, as a user types it."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import crfpunct
from crfpunct import marks, model_folder
from crfpunct.cli import main
from crfpunct.document import Document
from crfpunct.training import heard, like_speech

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
FEATURES = """
[train]
max_iterations = 20
[[template]]
name = "word"
use = ["word[{k}]"]
for = { k = [0, 1] }
[[template]]
name = "gap"
use = ["pause[0]"]
"""


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run the program in an empty folder; gives its exit code, output and messages."""
    monkeypatch.chdir(tmp_path)

    def program(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["crfpunct", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return program


@pytest.fixture
def corpus(tmp_path) -> Path:
    """A WikiPunct folder of thirty short texts, with word times whose pauses follow the full stops."""
    folder = tmp_path / "corpus"
    (folder / "fa").mkdir(parents=True)
    texts = ["ala ma kota. kot ma ale.", "jan śpi, bo noc. ala wie.", "kot wie, że jan śpi."]
    rows, expected = [], []
    for number in range(30):
        tokens = texts[number % 3].split()
        words, runs = marks.strip(tokens)
        rows.append(f"t{number}\t{' '.join(words)}\n")
        expected.append(" ".join(tokens) + "\n")
        clock, lines = 0, []
        for word, mark in zip(words, runs, strict=True):
            lines.append(f"({clock},{clock + 200}) {word}\n")
            clock += 200 + {"": 30, ",": 240, ".": 900}[mark]
        (folder / "fa" / f"t{number}.clntmstmp").write_text("".join([*lines, "</s>\n"]), encoding="utf-8")
    (folder / "in.tsv").write_text("".join(rows), encoding="utf-8")
    (folder / "expected.tsv").write_text("".join(expected), encoding="utf-8")
    (tmp_path / "small.toml").write_text(FEATURES, encoding="utf-8")
    return folder


def test_the_main_job(run, corpus, tmp_path):
    code, out, err = run("train", corpus, "--times", corpus / "fa", "--features", "small.toml", "--out", "model")
    assert (code, out) == (0, "")
    assert "punct: 30 documents, 30 of them with word times; 170 words" in err
    assert "no case part: words keep their case; to add it: crfpunct train TEXTS --task case --into model" in err
    assert "timed: " in err

    code, out, err = run(
        "tag", corpus / "in.tsv", "--times", corpus / "fa", "--model", "model", "--no-case", "--output", "out.tsv"
    )
    assert (code, out) == (0, "")
    assert (tmp_path / "out.tsv").read_text(encoding="utf-8") == (corpus / "expected.tsv").read_text(encoding="utf-8")

    code, out, _ = run("evaluate", corpus / "expected.tsv", "out.tsv")
    assert code == 0
    assert "100.00" in out


def test_a_model_carries_its_scores_and_a_card(run, corpus, tmp_path):
    arguments = [
        "--features",
        "small.toml",
        "--folds",
        "2",
        "--language",
        "pl",
        "--licence",
        "CC0",
        "--data",
        "made up",
    ]
    code, _, err = run("train", corpus, "--times", corpus / "fa", "--out", "model", *arguments)
    assert code == 0
    assert "text: weighted F1 " in err
    manifest = json.loads((tmp_path / "model" / "model.json").read_text(encoding="utf-8"))
    assert manifest["punct"]["scores"].keys() == {"text", "timed"}
    assert len(manifest["punct"]["scores"]["timed"]["all"]["by_fold"]) == 2
    card = (tmp_path / "model" / "card.md").read_text(encoding="utf-8")
    assert "made up; 30 texts, 30 with word times, 170 words" in card
    assert "| with word times | 2 | " in card
    assert "non-commercial" not in card


def test_text_alone_gives_one_chain(run, tmp_path):
    (tmp_path / "t.txt").write_text("ala ma kota. kot ma ale.\n" * 5, encoding="utf-8")
    (tmp_path / "small.toml").write_text(FEATURES, encoding="utf-8")
    code, _, err = run("train", "t.txt", "--features", "small.toml", "--out", "model")
    assert code == 0
    assert "0 of them with word times" in err
    assert crfpunct.load(tmp_path / "model").punctuator.timed is None


def test_more_text_without_times(run, corpus, tmp_path):
    features = FEATURES.replace("k = [0, 1]", "k = [-1, 0, 1]")
    (tmp_path / "small.toml").write_text(features + "[prior]\nc1 = 0.1\n", encoding="utf-8")
    (tmp_path / "more.txt").write_text("Ewa wie, że pies śpi.\n«Pies» śpi, bo noc.\n" * 20, encoding="utf-8")
    arguments = ["--times", corpus / "fa", "--features", "small.toml", "--folds", 2, "--out", "model"]
    code, _, err = run("train", corpus, "--text", "more.txt", *arguments)
    assert code == 0, err
    assert "prior: " in err
    manifest = model_folder.read("model").manifest
    chains = manifest["punct"]["chains"]
    assert list(chains) == ["prior", "text", "timed"]
    assert [chain["options"]["c1"] for chain in chains.values()] == [0.1, 0.5, 0.5]
    assert manifest["punct"]["text"]["words"] == 180
    assert list(manifest["punct"]["scores"]) == ["text", "timed"]
    assert "Other text, for the prior: 180 words" in (tmp_path / "model" / "card.md").read_text(encoding="utf-8")
    # The corpus has neither Ewa nor pies.
    restorer = crfpunct.load("model")
    assert restorer.restore("ewa wie że pies śpi") == "ewa wie, że pies śpi."
    # Retraining leaves nothing of the prior behind.
    assert run("train", corpus, "--features", "small.toml", "--into", "model")[0] == 0
    assert "punct-prior.npz" not in model_folder.read("model").files


def test_a_model_that_builds_on_another(run, corpus, tmp_path):
    features = FEATURES.replace("k = [0, 1]", "k = [-1, 0, 1]")
    (tmp_path / "small.toml").write_text(features, encoding="utf-8")
    about = ["--licence", "L1", "--non-commercial", "--data", "D1"]
    assert run("train", corpus, "--features", "small.toml", "--out", "first", *about)[0] == 0
    (tmp_path / "mine.txt").write_text("Pies wie, że pies je!\nPies je!\n" * 4, encoding="utf-8")
    code, _, err = run("train", "mine.txt", "--prior", "first", "--out", "second", "--licence", "L2")
    assert code == 0, err
    manifest = model_folder.read("second").manifest
    assert manifest["punct"]["features"] == "small"
    assert manifest["non_commercial"]
    assert manifest["licence"] == "L2; L1"
    assert manifest["punct"]["data"] == "not stated; built on the model first: D1"
    # `bo` is known from the first model's texts alone, the exclamation mark from the second one's.
    restored = crfpunct.load("second").restore("jan śpi bo noc")
    assert restored.startswith("jan śpi, bo noc")
    assert crfpunct.load("second").restore("pies je") == "pies je!"
    for wrong in (["--text", "mine.txt"], ["--features", "small.toml"], ["--task", "both"]):
        code, _, err = run("train", "mine.txt", "--prior", "first", "--out", "third", *wrong)
        assert code == 2
        assert "--prior is for marks alone" in err
    assert run("train", "mine.txt", "--task", "case", "--out", "case")[0] == 0
    code, _, err = run("train", "mine.txt", "--prior", "case", "--out", "third")
    assert (code, "case: has no punctuation part to build on; name another model." in err) == (1, True)


def test_case_is_learned_from_text_that_has_it(run, corpus, tmp_path):
    (tmp_path / "more.txt").write_text("Ewa wie, że Jan śpi.\nPies Ewy śpi, bo noc.\n" * 20, encoding="utf-8")
    code, _, err = run("train", corpus, "--task", "case", "--text", "more.txt", "--out", "model")
    assert code == 0, err
    assert "case: 30 of 70 texts have no capital and are left out" in err


def test_text_is_made_like_speech():
    speech = [Document("", ["saryusz", "wolski", "wie", "bo", "był"], marks=["-", "", ",", "", "."])]
    lines = ["Biało-czerwony „dom”, stary.", "Tak.", "To nie-nowe!", "Drugi plik."]
    stripped = [marks.strip(line.split()) for line in lines]
    text = [Document("", words, marks=runs, source=f"a.txt:{i}") for i, (words, runs) in enumerate(stripped)]
    text[3].source = "b.txt:1"
    found = like_speech(text, speech)
    assert [(d.words, d.marks) for d in found] == [
        (["Biało", "czerwony", "dom", "stary", "Tak"], ["-", "", ",", ".", "."]),
        (["To", "nie", "nowe"], ["", "-", "!"]),
        (["Drugi", "plik"], ["", "."]),
    ]
    # A corpus that writes hyphens keeps them, and so does text beside it.
    speech[0].words[0] = "saryusz-wolski"
    assert like_speech(text, speech)[0].words[0] == "Biało-czerwony"
    assert like_speech([], speech) == like_speech([Document("", [], marks=[])], speech) == []


def test_training_twice_gives_the_same_arrays(run, corpus, tmp_path):
    for name in ("one", "two"):
        run("train", corpus, "--times", corpus / "fa", "--features", "small.toml", "--out", name)
    one, two = (model_folder.read(tmp_path / name) for name in ("one", "two"))
    assert one.files == two.files
    assert {"punct-text.npz", "punct-timed.npz", "card.md", "templates/small.toml"} == one.files.keys()


def test_a_model_that_is_there_is_replaced_only_by_force(run, corpus, tmp_path):
    arguments = ["train", corpus, "--features", "small.toml", "--out", "model"]
    assert run(*arguments)[0] == 0
    before = model_folder.read(tmp_path / "model").files
    code, _, err = run(*arguments)
    assert code == 1
    assert err == "crfpunct: model: a model is there already; name another --out, or add --force to replace it.\n"
    assert model_folder.read(tmp_path / "model").files == before
    assert run(*arguments, "--force", "--max-iterations", "2")[0] == 0
    assert model_folder.read(tmp_path / "model").files != before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the training set has no words; check that it is not empty."),
        ("\n\n", "the training set has no words; check that it is not empty."),
        ("ala ma kota\n", "the training set has no marks at all, so there is nothing to tell apart"),
        ("ala. ma. kota.\n", "the training set has only the mark '.', so there is nothing to tell apart"),
    ],
)
def test_nothing_to_learn_from(run, tmp_path, content, message):
    (tmp_path / "t.txt").write_text(content, encoding="utf-8")
    code, out, err = run("train", "t.txt", "--out", "model")
    assert (code, out) == (1, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.txt"], "missing.txt: no such file"),
        (["t.txt", "--features", "nine"], "nine: no such feature file or folder"),
        (["t.txt", "--features", "bad.toml"], "unknown key 'min_cuont'; did you mean 'min_count'?"),
        (["t.txt", "--times", "t.txt"], "t.txt: damaged archive"),
        (["t.txt", "--from", "nine"], "unknown format 'nine'"),
    ],
)
def test_bad_input_is_one_line_and_no_model(run, tmp_path, arguments, message):
    (tmp_path / "t.txt").write_text("ala ma kota.\n", encoding="utf-8")
    bad = '[[template]]\nname = "w"\nuse = ["word[0]"]\nmin_cuont = 2\n'
    (tmp_path / "bad.toml").write_text(bad, encoding="utf-8")
    code, out, err = run("train", *arguments, "--out", "model")
    assert (code, out) == (1, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "model").exists()


def test_attributes_by_the_number_and_a_device(run, corpus):
    arguments = ("train", corpus, "--features", "small.toml", "--most-attributes", 6, "--out", "model")
    code, _, err = run(*arguments, "--device", "auto")
    assert code == 0
    assert "device c" in err  # cpu or cuda, and why
    chain = model_folder.read("model").manifest["punct"]["chains"]["text"]
    assert chain["attributes"] <= 6 == chain["options"]["most_attributes"]


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")
def test_a_device_that_is_not_there(run, corpus):
    code, _, err = run("train", corpus, "--features", "small.toml", "--device", "cuda", "--out", "model")
    assert code == 1
    assert "pip install 'crfpunct[cuda12]'" in err
    assert not Path("model").exists()


def test_one_fold_is_wrong_usage(run):
    code, _, err = run("train", "t.txt", "--out", "model", "--folds", "1")
    assert code == 2
    assert "one fold leaves nothing to train on" in err


CASED = "".join(f"Wczoraj Ala pojechała do Łodzi. Jej kot zna NATO, a Ala zna Jana {n}.\n" for n in range(20))


def test_case_joins_a_model_that_is_there(run, corpus, tmp_path):
    (tmp_path / "cased.txt").write_text(CASED, encoding="utf-8")
    assert run("train", corpus, "--times", corpus / "fa", "--features", "small.toml", "--out", "model")[0] == 0
    before = model_folder.read(tmp_path / "model")
    code, _, err = run("train", "cased.txt", "--task", "case", "--into", "model", "--licence", "CC0", "--folds", "2")
    assert code == 0
    assert "case: F1 of words with a capital " in err
    after = model_folder.read(tmp_path / "model")
    assert before.files.items() - {("card.md", before.files["card.md"])} <= after.files.items()
    assert {"case.npz", "templates/case.toml", "templates/small.toml"} < after.files.keys()
    assert "## Case" in after.files["card.md"].decode()
    # Trained again, the part is replaced and nothing is left of the old one.
    code, _, _ = run("train", "cased.txt", "--task", "case", "--into", "model", "--max-iterations", "2")
    assert code == 0
    assert model_folder.read(tmp_path / "model").files.keys() == after.files.keys()


def test_case_alone_needs_a_case_part(run, corpus, tmp_path):
    assert run("train", corpus, "--features", "small.toml", "--out", "model")[0] == 0
    (tmp_path / "t.txt").write_text("ala.\n", encoding="utf-8")
    code, out, err = run("tag", "t.txt", "--model", "model", "--no-punct")
    assert (code, out) == (1, "")
    assert err == "crfpunct: the model has no case part, only punctuation; train one with --task case --into.\n"
    assert run("tag", "t.txt", "--model", "model", "--no-punct", "--no-case") == (0, "ala.\n", "")


def test_both_tasks_from_one_text(run, tmp_path):
    (tmp_path / "cased.txt").write_text(CASED, encoding="utf-8")
    assert run("train", "cased.txt", "--task", "both", "--out", "model", "--max-iterations", "20")[0] == 0
    assert crfpunct.load(tmp_path / "model").restore("wczoraj ala pojechała do łodzi") == (
        "Wczoraj Ala pojechała do Łodzi."
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ala ma kota.\n", "the training text has no capital letter; train case on text written with capitals."),
        ("ALA MA KOTA.\n", "the training text is all in capitals"),
    ],
)
def test_no_case_to_learn(run, tmp_path, content, message):
    (tmp_path / "t.txt").write_text(content, encoding="utf-8")
    code, _, err = run("train", "t.txt", "--task", "case", "--out", "model")
    assert code == 1
    assert message in err
    assert not (tmp_path / "model").exists()


def test_a_punctuation_model_may_not_look_at_the_marks(run, tmp_path):
    (tmp_path / "t.txt").write_text("ala ma kota.\n", encoding="utf-8")
    (tmp_path / "f.toml").write_text('[[template]]\nname = "m"\nuse = ["mark[0]"]\n', encoding="utf-8")
    code, _, err = run("train", "t.txt", "--features", "f.toml", "--out", "model")
    assert code == 1
    assert "template 'm' looks at the marks, which this model is to place" in err


@pytest.mark.parametrize(
    "arguments", [[], ["--out", "a", "--into", "b"], ["--task", "both", "--features", "case", "--out", "a"]]
)
def test_options_that_contradict_each_other(run, arguments):
    assert run("train", "t.txt", *arguments)[0] == 2


def test_an_output_folder_that_is_no_model_is_left_alone(run, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine", encoding="utf-8")
    code, _, err = run("train", "t.txt", "--out", "notes", "--force")
    assert code == 1
    assert "notes: exists and is not a model folder" in err
    assert (tmp_path / "notes" / "mine.txt").read_text(encoding="utf-8") == "mine"


def test_the_examples_train(run):
    """The example corpus is read whole: four texts, word times for each, the marks of its gold."""
    code, _, err = run(
        "train", EXAMPLES / "wikipunct", "--times", EXAMPLES / "wikipunct" / "fa", "--max-iterations", 5, "--out", "m"
    )
    assert code == 0
    assert "4 documents, 4 of them with word times" in err


def test_progress_is_told_to_whoever_asks(corpus):
    from crfpunct.estimators import PunctuationCRF
    from crfpunct.formats import read_punctuated

    steps = []
    fitted = PunctuationCRF(corpus.parent / "small.toml", max_iterations=7, progress=steps.append)
    fitted.fit(list(read_punctuated(corpus)))
    assert [step.iteration for step in steps] == list(range(len(steps)))
    assert steps[-1].loss < steps[1].loss
    assert all(step.limit == 7 for step in steps)
    assert np.isfinite([step.loss for step in steps[1:]]).all()


def test_words_that_come_apart_from_their_labels_are_taken_as_they_are(tmp_path):
    """A tokeniser's ``'s`` is looked up as ``'s`` when it is tagged; written text has no such words."""
    (tmp_path / "a.conll").write_text("it\tO\n's\tO\n\"\tO\nso\tPERIOD\n", encoding="utf-8")
    (tmp_path / "a.txt").write_text('\'tis "so".\n', encoding="utf-8")
    assert [document.words for document in heard(tmp_path / "a.conll")] == [["it", "'s", '"', "so"]]
    assert [document.words for document in heard(tmp_path / "a.conll", "conll:1,2")] == [["it", "'s", '"', "so"]]
    assert [document.words for document in heard(tmp_path / "a.txt")] == [["tis", "so"]]


# ---------------------------------------------------------------- pauses of other speech


@pytest.fixture
def speech(tmp_path) -> Path:
    """Thirty short texts of other words, which pause for 900 ms behind full stops alone."""
    rows = []
    for _ in range(30):
        clock, words = 0.0, []
        for token in ["the", "dog", "sat.", "a", "cat,", "it", "ran", "off.", "it", "is", "late."]:
            word, mark = marks.split_mark(token)
            words.append({"word": word, "start": clock, "end": clock + 0.2, "mark": mark})
            clock = round(clock + (1.1 if mark == "." else 0.23), 2)
        rows.append(json.dumps({"words": words}) + "\n")
    (tmp_path / "speech.jsonl").write_text("".join(rows), encoding="utf-8")
    (tmp_path / "text.txt").write_text("ala ma kota. kot ma ale.\njan śpi, bo noc. ala wie.\n" * 15, encoding="utf-8")
    (tmp_path / "small.toml").write_text(FEATURES.replace("[0, 1]", "[-1, 0, 1]"), encoding="utf-8")
    return tmp_path / "speech.jsonl"


def test_pauses_of_another_language(run, speech, tmp_path):
    train = ("train", "text.txt", "--features", "small.toml", "--out", "model")
    code, _, err = run(*train, "--pauses", speech)
    assert code == 0, err
    assert "timed: " in err
    card = (tmp_path / "model" / "card.md").read_text(encoding="utf-8")
    assert "Speech, for the pauses: 330 words" in card
    words = ["pies", "nie", "je", "pies", "nie", "je", "pies"]
    document = Document("", words)
    silent = crfpunct.load("model").restore(document).marks
    times, clock = [], 0
    for place in range(len(words)):
        times.append((clock, clock + 200))
        clock += 1100 if place in (2, 4) else 230
    found = crfpunct.load("model").restore(Document("", words, times_ms=np.array(times))).marks
    assert silent[2] != "."
    assert (found[2], found[4]) == (".", ".")
    assert set(found[:2]) == {""}


def test_pauses_for_texts_that_have_their_own(run, corpus, speech):
    given = ("train", corpus, "--features", "small.toml", "--out", "model", "--pauses", speech)
    assert run(*given, "--times", corpus / "fa")[0] == 2
    code, _, err = run("train", speech, "--features", "small.toml", "--out", "model", "--pauses", speech)
    assert (code, err) == (1, "crfpunct: the texts have word times of their own; leave out --pauses.\n")


@pytest.mark.parametrize(
    ("content", "missing"),
    [
        ("", "words"),
        ('{"words": []}\n', "words"),
        ('{"words": [{"word": "a", "mark": "."}]}\n', "word times"),
        ('{"words": [{"word": "a", "start": 0, "end": 1}]}\n', "marks"),
    ],
)
def test_speech_that_tells_nothing_of_pauses(run, speech, content, missing):
    Path("other.jsonl").write_text(content, encoding="utf-8")
    code, _, err = run("train", "text.txt", "--out", "model", "--pauses", speech, "--pauses", "other.jsonl")
    expected = f"crfpunct: other.jsonl: has no {missing}; --pauses takes punctuated speech with word times.\n"
    assert (code, err) == (1, expected)


def test_speech_with_other_marks(run, speech):
    Path("text.txt").write_text("ala ma kota! kot ma ale!\n" * 9, encoding="utf-8")
    code, _, err = run("train", "text.txt", "--out", "model", "--pauses", speech)
    assert code == 1
    assert "the speech of --pauses has none of the marks of the texts: , . there, ! here; name" in err


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (("pause[0]", "word[2]"), "words: no template looks at pauses alone, as --pauses needs; add one."),
        (("[0, 1]", "[0]"), 'words: --pauses needs a template for the word before; add one with use = ["word[-1]"].'),
    ],
)
def test_features_that_pauses_cannot_be_learned_with(run, speech, changed, message):
    Path("words.toml").write_text(FEATURES.replace(*changed), encoding="utf-8")
    code, _, err = run("train", "text.txt", "--features", "words.toml", "--out", "model", "--pauses", speech)
    assert (code, err) == (1, f"crfpunct: {message}\n")
    assert not Path("model").exists()
