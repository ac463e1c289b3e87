"""The page that `crfpunct train --report` writes, and the numbers on it."""

from __future__ import annotations

import io
import re
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfpunct import cli
from crfpunct.attributes import Batch
from crfpunct.document import Document
from crfpunct.report import training_page
from crfpunct.training import Options, cross_validate, fold_of, learning_curve

FEATURES = '[[template]]\nname = "w"\nuse = ["word[{k}]"]\nfor = { k = [0, 1] }\n'
WORDS = ["ala", "ma", "kota", "tak", "że"]


def texts(count=40):
    random = np.random.default_rng(0)
    for _ in range(count):
        words = random.choice(WORDS, 9).tolist()
        gaps = random.choice([0, 90, 1200], 9)
        marks = ["." if gap > 1000 else "," if word == "tak" else "" for word, gap in zip(words, gaps, strict=True)]
        starts = np.cumsum([0, *gaps[:-1]])
        yield Document("", words, np.stack([starts, starts], axis=1), marks)


marks = st.sampled_from(["", ",", "."])
decided = st.lists(
    st.lists(st.tuples(st.sampled_from(WORDS), marks, marks), max_size=8).map(
        lambda rows: (Document("", [w for w, _, _ in rows], marks=[g for _, g, _ in rows]), [f for _, _, f in rows])
    ),
    max_size=5,
)


@given(decided=decided)
@settings(max_examples=50)
def test_errors_are_what_is_off_the_diagonal(decided):
    counts = training_page.confusion(decided)
    assert counts.total() == sum(len(document.words) for document, _ in decided)
    off = {pair: count for pair, count in counts.items() if pair[0] != pair[1]}
    kinds = training_page.top_errors(decided)
    assert {(kind.gold, kind.found): kind.count for kind in kinds} == off
    assert [kind.count for kind in kinds] == sorted(off.values(), reverse=True)
    for kind in kinds:
        assert sum(count for _, _, count in kind.contexts) <= kind.count
        assert 1 <= len(kind.examples) <= kind.count


def test_errors_have_their_words_around_them():
    document = Document("", ["ala", "ma", "kota", "tak", "ma"], marks=["", "", ".", "", "."])
    missed, added = training_page.top_errors([(document, ["", ",", "", "", "."])])
    if missed.gold == "":
        missed, added = added, missed
    assert (missed.gold, missed.found, missed.examples) == (".", "", [("ala ma kota", "tak ma")])
    assert (added.gold, added.found, added.contexts) == ("", ",", [("ma", "kota", 1)])
    last = training_page.top_errors([(document, ["", "", ".", "", ""])])[0]
    assert last.contexts == [("ma", "", 1)]


def test_pauses_are_counted_as_templates_see_them():
    documents = list(texts())
    counts = training_page.pauses_by_mark(documents)
    assert next(iter(counts)) == ""
    gaps = Batch.of(documents).pauses.gap_ms
    labels = [mark for document in documents for mark in document.marks]
    expected = Counter(label for label, gap in zip(labels, gaps.tolist(), strict=True) if gap >= 0)
    assert {label: int(bins.sum()) for label, bins in counts.items()} == dict(expected)
    long = np.searchsorted(training_page.PAUSE_EDGES, 1200, side="right")
    assert counts["."][long] == counts["."].sum()
    assert counts[""][0] > 0  # a pause of 0 has a bin of its own
    assert training_page.pauses_by_mark([Document("", ["ala"], marks=[""])]) == {}


@pytest.fixture
def features(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(FEATURES, encoding="utf-8")
    return path


def test_a_learning_curve_ends_with_all_words(features):
    documents = list(texts())
    options = Options(features, c1=0.0, c2=0.01)
    [first, *_] = cross_validate(documents, False, options, 2)
    steps = []
    curve = learning_curve(documents, False, options, 2, first, steps.append)
    words = [count for count, _ in curve]
    assert words == sorted(words)
    assert words[-1] == sum(len(d.words) for d in documents if fold_of(d, 2) != first.fold)
    assert curve[-1][1] == first.counts.weighted_f1("all")
    assert [step.iteration for step in steps] == [1, 2, 3, 4]
    assert curve == learning_curve(documents, False, options, 2, first)


def test_a_curve_leaves_out_parts_without_marks(features):
    documents = list(texts())
    options = Options(features, c1=0.0, c2=0.01)
    [first, *_] = cross_validate(documents, False, options, 2)
    kept = next(i for i, document in enumerate(documents) if fold_of(document, 2) != first.fold)
    for i, document in enumerate(documents):
        if i != kept and fold_of(document, 2) != first.fold:
            document.marks = [""] * len(document.words)
    curve = learning_curve(documents, False, options, 2, first)
    assert 1 <= len(curve) < 5


@pytest.fixture
def train(monkeypatch, tmp_path, features):
    monkeypatch.chdir(tmp_path)
    for timed in (True, False):
        rows = []
        for i, document in enumerate(texts()):
            tokens = [
                f"{word}{mark}:{a}-{a}" if timed else word + mark
                for word, mark, (a, _) in zip(document.words, document.marks, document.times_ms.tolist(), strict=True)
            ]
            rows.append(f"a.wav\t{i}\t{' '.join(tokens)}" if timed else " ".join(tokens))
        name = "timed.tsv" if timed else "plain.txt"
        (tmp_path / name).write_text("\n".join(rows) + "\n", encoding="utf-8")

    def run(*arguments):
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with monkeypatch.context() as patch:
            options = ["--out", "m", "--features", str(features), "--c1", "0", "--c2", "0.01", "--force"]
            patch.setattr(sys, "argv", ["crfpunct", "train", *map(str, arguments), *options])
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = 0
            try:
                cli.main()
            except SystemExit as end:
                code = end.code or 0
            err.flush()
        return code, err.buffer.getvalue().decode()

    return run


def test_the_report_of_a_training_with_folds(train, tmp_path):
    code, err = train("timed.tsv", "--folds", "2", "--report", "r.html")
    assert code == 0
    assert "r.html: the report." in err
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|<script|<link|<img|@import|url\(", page)
    for title in ("Pauses against marks", "Confusions (text)", "Most frequent errors (text)", "Learning curve"):
        assert f"<h2>{title}</h2>" in page
    assert "weighted F1, timed" in page
    assert "not cross-validated" not in page


def test_the_report_of_a_training_without_folds_or_times(train, tmp_path):
    code, _ = train("plain.txt", "--report", "r.html")
    assert code == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The model was not cross-validated. With --folds 5" in page
    assert "Pauses against marks" not in page
    assert "Confusions" not in page


def test_a_report_is_about_marks(train):
    code, err = train("plain.txt", "--task", "case", "--report", "r.html")
    assert code == 2
    assert "--report is about marks" in err


def test_a_report_that_cannot_be_written_is_refused_before_training(train, tmp_path):
    code, err = train("plain.txt", "--report", "none/r.html")
    assert code == 1
    assert err == "crfpunct: none/r.html: cannot be written (No such file or directory); check the folder.\n"
    assert not (tmp_path / "m").exists()
    (tmp_path / "r.html").write_text("an older one")
    code, err = train("empty.txt", "--report", "r.html")
    assert code == 1
    assert [path.name for path in sorted(tmp_path.glob("*.html*"))] == ["r.html"]
    assert (tmp_path / "r.html").read_text() == "an older one"
