"""`crfpunct explain` as a command: tables, JSON, the page, the picture, and what it says of bad input."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from crfpunct import cli, model_folder
from crfpunct.document import Document
from crfpunct.estimators import PunctuationCRF, TruecasingCRF
from crfpunct.model_folder import ModelFolder, pack

PUNCT = """
[[template]]
name = "word"
use = ["word[{k}]"]
for = { k = [0, 1] }
[[template]]
name = "gap"
use = ["gap[0]"]
"""
CASE = '[[template]]\nname = "word"\nuse = ["word[0]"]\n'

#: A comma in front of "że"; with times, a full stop where the pause is long.
WORDS = ["ala", "mówi", "że", "kot", "<b>"]


def texts(timed: bool):
    random = np.random.default_rng(0)
    for _ in range(40):
        words = random.choice(WORDS, 9).tolist()
        gaps = random.choice([0, 90, 1200], 9)
        following = [*words[1:], ""]
        stops = gaps > 1000 if timed else [False] * 9
        marks = ["," if n == "że" else "." if stop else "" for n, stop in zip(following, stops, strict=True)]
        starts = np.cumsum([0, *gaps[:-1]])
        yield Document("", words, np.stack([starts, starts], axis=1) if timed else None, marks)


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Folders: both tasks and both CRFs; marks of text alone; case alone."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "mine.toml").write_text(PUNCT, encoding="utf-8")
    (folder / "mycase.toml").write_text(CASE, encoding="utf-8")
    options = {"c1": 0.0, "c2": 0.05}
    chains = {
        name: PunctuationCRF(folder / "mine.toml", use_times=timed, **options).fit(list(texts(timed))).chain_
        for name, timed in (("text", False), ("timed", True))
    }
    cased = [Document("", ["Ala", "mówi", "kot", "Tak"], marks=["", "", ".", "."])] * 5
    truecaser = TruecasingCRF(folder / "mycase.toml", **options).fit(cased).truecaser_

    def punct(*names):
        described = {name: {"file": f"punct-{name}.npz", "labels": list(chains[name].labels)} for name in names}
        files = {f"punct-{name}.npz": pack(chains[name].to_arrays()) for name in names}
        return {"features": "mine", "chains": described, "joined_parts": []}, files | {
            "templates/mine.toml": PUNCT.encode()
        }

    case = {"features": "mycase", "file": "case.npz", "labels": list(truecaser.chain.labels)}
    case_files = {"case.npz": pack(truecaser.to_arrays()), "templates/mycase.toml": CASE.encode()}
    part, files = punct("text", "timed")
    model_folder.write(folder / "both", ModelFolder({"punct": part, "case": case}, files | case_files))
    part, files = punct("text")
    model_folder.write(folder / "plain", ModelFolder({"punct": part}, files))
    model_folder.write(folder / "case", ModelFolder({"case": case}, case_files))
    return folder


@pytest.fixture
def explain(models, monkeypatch, tmp_path):
    """Runs the program in a folder of its own; gives (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(model, *arguments, stdin=""):
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["crfpunct", "explain", str(models / model), *map(str, arguments)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = 0
            try:
                cli.main()
            except SystemExit as end:
                code = end.code or 0
            for stream in (out, err):
                stream.flush()
        return code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()

    return run


@pytest.fixture
def spoken(tmp_path):
    """Two documents with times: a comma in the first, a full stop in the second."""
    rows = [
        "a.wav\tone\tala:0-100 mówi:120-300 że:320-400 kot:420-500",
        "a.wav\ttwo\tala:0-100 kot:120-300 ala:1500-1600",
    ]
    path = tmp_path / "spoken.tsv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_a_model_is_explained(explain):
    code, out, _ = explain("both")
    assert code == 0
    assert re.search(r"\+\d\.\d\d +word\[1\]=że", out)
    assert "text: transitions" in out
    assert "timed: templates" in out
    assert re.search(r"Templates that look at pauses: \d+\.\d % together", out)
    assert explain("both", "--chain", "text")[1].count("transitions") == 1
    assert "TITLE" in explain("both", "--task", "case")[1]


def test_a_model_as_json_has_its_numbers(explain):
    code, out, _ = explain("both", "--to", "json", "--top", "2")
    assert code == 0
    data = json.loads(out)
    assert data["schema"] == {"name": "crfpunct-model-explanation", "version": 1}
    chain = data["chains"]["timed"]
    assert len(chain["transition"]) == len(chain["labels"]) == len(chain["bias"])
    assert chain["strongest"][","]["for"][0]["seen"] == "word[1]=że"
    assert all(len(side) <= 2 for label in chain["strongest"].values() for side in label.values())
    assert sum(template["share"] for template in chain["templates"]) == pytest.approx(1)


def test_why_a_comma_here(explain):
    code, out, _ = explain("both", "-", "--at", "2", stdin="ala mówi że kot\n")
    assert code == 0
    assert "document 1, word 2 (mówi): comma, not none" in out
    assert re.search(r"word\[1\]=że +word +\d\.\d\d +−?\d\.\d\d +\+\d", out)
    assert re.search(r"Probabilities: , \d+\.\d %, none \d", out)
    assert "In the text itself" not in out


def test_all_marks_of_a_text(explain, spoken):
    code, out, _ = explain("both", spoken)
    assert code == 0
    placed = int(re.search(r"2 documents, 7 words, (\d) marks", out)[1])
    assert re.search(r"\n +1 +2 +mówi +, +\d+\.\d +none +\d+\.\d +20 +word\[1\]=że", out)
    assert re.search(r"\n +2 +2 +kot +\. +.* 1,200 +gap\[0\]=1050–1350", out)
    assert "Probabilities" not in out
    details = explain("both", spoken, "--details")[1]
    assert details.count("Probabilities") == placed >= 2
    assert "Pause: 1,200 ms." in details


def test_documents_are_found_by_number_or_id(explain, spoken):
    for name in ("2", "a.wav\ttwo"):
        code, out, _ = explain("both", spoken, "--document", name, "--at", "2", "--to", "json")
        assert code == 0
        (document,) = json.loads(out)["documents"]
        assert document["number"] == 2
        (decision,) = document["decisions"]
        assert (decision["word"], decision["label"], decision["runner_up"]) == (2, ".", "")


def test_json_adds_up(explain, spoken):
    data = json.loads(explain("both", spoken, "--to", "json", "--top", "1")[1])
    assert data["schema"] == {"name": "crfpunct-explanation", "version": 1}
    for document in data["documents"]:
        for word in document["words"]:
            assert sum(word["probabilities"]) == pytest.approx(1)
        for decision in document["decisions"]:
            reasons = [*decision["attributes"], *decision["path"]]
            reasons += [decision["other_attributes"]] if decision["other_attributes"] else []
            assert sum(reason["lead"] for reason in reasons) == pytest.approx(decision["lead"])
            assert len(decision["attributes"]) == 1
    assert [word["pause_ms"] for word in data["documents"][1]["words"]] == [20, 1200, None]
    assert data["templates"][-1]["pauses"] is True


def test_marks_of_the_text_are_taken_off_and_shown(explain):
    data = json.loads(explain("both", "-", "--to", "json", stdin="Ala. mówi że kot\n")[1])
    (document,) = data["documents"]
    assert [word["word"] for word in document["words"]] == ["Ala", "mówi", "że", "kot"]
    assert [word["given"] for word in document["words"]] == [".", "", "", ""]
    assert "In the text itself: full stop." in explain("both", "-", "--at", "1", stdin="Ala. mówi że\n")[1]


def test_case_is_explained(explain):
    code, out, _ = explain("both", "-", "--task", "case", stdin="ala mówi\n")
    assert code == 0
    assert "1 document, 2 words, 1 words with a capital" in out
    assert re.search(r"1 +Ala +TITLE", out)
    assert "Aa" in explain("both", "-", "--task", "case", "--to", "html", stdin="ala mówi\n")[1]
    assert "Ala" in explain("case", "-", "--task", "case", "--to", "svg", stdin="ala mówi\n")[1]


def test_word_times_can_come_from_a_folder(explain, tmp_path):
    (tmp_path / "fa").mkdir()
    (tmp_path / "fa" / "x1.clntmstmp").write_text("(0,100) ala\n(120,300) kot\n(1500,1600) ala\n", encoding="utf-8")
    (tmp_path / "in.tsv").write_text("x1\tala kot ala\n", encoding="utf-8")
    out = explain("both", tmp_path / "in.tsv", "--from", "wikipunct", "--times", tmp_path / "fa")[1]
    assert "1,200" in out
    assert "(timed)" in out
    assert "(text)" in explain("both", "-", "--chain", "text", stdin="ala mówi że\n")[1]


def test_the_page_needs_nothing_else(explain, spoken, tmp_path):
    code, out, _ = explain("both", spoken, "--to", "html", "-o", tmp_path / "page.html")
    assert (code, out) == (0, "")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|<script|<link|<img|@import|url\(", page)
    assert "prefers-color-scheme: dark" in page
    assert 'data-ms="1,200"' in page
    assert page.count('role="tooltip"') >= 2
    whole = explain("both", "--to", "html")[1]
    assert whole.startswith("<!doctype html>")
    assert "transitions" in whole


def test_words_of_a_page_are_text(explain):
    page = explain("both", "-", "--to", "html", "--at", "1", stdin="<b> że </script> że\n")[1]
    assert "<b> że" not in page
    assert "&lt;b&gt;" in page
    assert "word[0]=&lt;b&gt;" in page
    picture = explain("both", "-", "--to", "svg", "--at", "1", stdin="<b> że & że\n")[1]
    assert ElementTree.fromstring(picture).tag.endswith("svg")


def test_the_picture_is_whole(explain, spoken):
    code, out, _ = explain("both", spoken, "--document", "2", "--to", "svg")
    assert code == 0
    root = ElementTree.fromstring(out)
    shown = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"ala", "kot", ".", "1,200 ms", "gap[0]=1050–1350"} <= set(shown)
    assert not re.search(r"http(?!://www\.w3\.org)", out)
    long = explain("both", "-", "--to", "svg", stdin="ala mówi że " * 40 + "kot\n")[1]
    right = [float(e.get("x")) for e in ElementTree.fromstring(long).iter() if e.tag.endswith("text")]
    assert max(right) <= 860


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; apt-get install chromium")
def test_a_browser_shows_the_reasons(explain, spoken, tmp_path):
    """The reasons of a mark show while it has the focus, and no others; a phone needs no scrolling sideways."""
    page = explain("both", spoken, "--to", "html")[1]
    script = """<script>addEventListener("load", () => {
      const marks = [...document.querySelectorAll(".text .m")];
      const shown = () => marks.map(m => getComputedStyle(m.querySelector(".why")).display);
      const before = shown();
      marks[1].focus();
      const wide = document.documentElement.scrollWidth - innerWidth;
      document.title = JSON.stringify({before, after: shown(), wide});
    })</script>"""
    page_file = tmp_path / "page.html"
    page_file.write_text(page.replace("</body>", script + "</body>"), encoding="utf-8")
    options = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    options += " --disable-component-update --disable-sync --window-size=500,800 --dump-dom"
    for attempt in range(5):  # a window that has not got the focus yet, as on a busy machine, matches no :focus
        done = subprocess.run(
            [CHROMIUM, *options.split(), f"--user-data-dir={tmp_path / f'profile{attempt}'}", page_file.as_uri()],
            capture_output=True,
            check=True,
            timeout=120,
        )
        title = re.search(r"<title>(.*?)</title>", done.stdout.decode())
        found = json.loads(title[1])
        if "block" in found["after"]:
            break
    assert set(found["before"]) == {"none"}
    assert found["after"][1] == "block"
    assert found["after"].count("block") == 1
    assert found["wide"] <= 0


BAD = {
    "no case part": (("plain", "-", "--task", "case"), "plain: has no case part, only punctuation"),
    "no case part, model alone": (("plain", "--task", "case"), "plain: has no case part, only punctuation"),
    "no punctuation part": (("case", "-"), "case: has no punctuation part, only case"),
    "no punctuation part, model alone": (("case",), "case: has no punctuation part, only case"),
    "no pauses in the model": (("plain", "--chain", "timed"), "plain: has no CRF for texts with word times"),
    "no pauses in the model, text": (("plain", "-", "--chain", "timed"), "has no CRF for texts with word times"),
    "no times in the text": (("both", "-", "--chain", "timed"), "-:1: has no word times"),
    "place out of range": (("both", "-", "--at", "9"), "-: document 1 has 4 words, so there is no word 9"),
    "no such document": (("both", "-", "--document", "3"), "-: has no document '3'; name one of 1 to 1"),
    "no such file": (("both", "nowhere.txt"), "nowhere.txt: no such file"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line(explain, arguments, message):
    code, out, err = explain(*arguments, stdin="ala mówi że kot\n")
    assert (code, out) == (1, "")
    assert message in err
    assert err.startswith("crfpunct: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("to", ["table", "json", "html", "svg"])
def test_a_text_without_marks_is_one_line(explain, to, tmp_path):
    target = tmp_path / "out"
    code, _, err = explain("both", "-", "--to", to, "-o", target, stdin="kot ala\nala\n")
    assert code == 1
    assert err == "crfpunct: -: both places no mark behind any of its 3 words; name a word to explain with --at.\n"
    assert not target.exists()
    code, out, _ = explain("both", "-", "--to", to, "--at", "1", stdin="kot ala\n")
    assert code == 0
    assert "kot" in out
    code, _, err = explain("both", "-", "--to", to, stdin="\n")
    assert (code, err.count("\n")) == (1, 1)
    assert "has no words to explain" in err


def test_a_text_without_capitals_is_one_line(explain):
    code, _, err = explain("both", "-", "--task", "case", stdin="kot\n")
    assert code == 1
    assert "both gives no capital to any of its 1 words" in err


def test_a_place_needs_its_document(explain, spoken):
    code, _, err = explain("both", spoken, "--at", "2")
    assert code == 1
    assert "has 2 documents; say with --document which of them word 2 is in" in err


USAGE = {
    "place without a text": ("both", "--at", "1"),
    "picture of a model": ("both", "--to", "svg"),
    "chain of case": ("both", "-", "--task", "case", "--chain", "text"),
    "words count from 1": ("both", "-", "--at", "0"),
    "unknown output": ("both", "--to", "pdf"),
}


@pytest.mark.parametrize("arguments", USAGE.values(), ids=USAGE)
def test_wrong_usage_is_said(explain, arguments):
    assert explain(*arguments, stdin="ala\n")[0] == 2
