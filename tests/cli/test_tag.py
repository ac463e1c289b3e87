"""`crfpunct tag` as a command: its options, streams, and what it says of bad input."""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import subprocess
import sys
import time

import numpy as np
import pytest

from crfpunct import cli, model_folder
from crfpunct.document import Document
from crfpunct.estimators import PunctuationCRF
from crfpunct.model_folder import ModelFolder, pack

FEATURES = '[text]\ndash = "–"\n[[template]]\nname = "w"\nuse = ["word[0]"]\n'

#: "kota" ends a sentence, "tak" has a comma behind it, "polsko" is joined to what follows.
MARKS = {"kota": ".", "tak": ",", "polsko": "-"}


def texts():
    generator = np.random.default_rng(0)
    for _ in range(60):
        words = generator.choice(["ala", "ma", "i", "kot", "niemiecki", "5", *MARKS], 12).tolist()
        yield Document("", words, marks=[MARKS.get(word, "") for word in words])


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    (folder / "mine.toml").write_text(FEATURES, encoding="utf-8")
    chain = PunctuationCRF(folder / "mine.toml", use_times=False, c1=0.0, c2=1e-2).fit(list(texts())).chain_
    described = {"text": {"file": "punct-text.npz", "labels": list(chain.labels)}}
    part = {"features": "mine", "chains": described, "joined_parts": ["polsko"]}
    files = {"punct-text.npz": pack(chain.to_arrays()), "templates/mine.toml": FEATURES.encode()}
    model_folder.write(folder / "m", ModelFolder({"punct": part}, files))
    return str(folder / "m")


@pytest.fixture
def tag(model, monkeypatch, tmp_path):
    """Runs the program in a folder of its own; gives (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, stdin="", model=model):
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        given = stdin if isinstance(stdin, bytes) else stdin.encode()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["crfpunct", "tag", "--model", model, *map(str, arguments)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = 0
            try:
                cli.main()
            except SystemExit as done:
                code = done.code or 0
        texts = []
        for stream in (out, err):
            stream.flush()
            texts.append(stream.buffer.getvalue().decode())
        assert "Traceback" not in texts[1]
        return code, *texts

    return run


def test_text_gets_marks_and_keeps_all_else(tag):
    assert tag(stdin=" ala ma\tkota\r\n\ntak\n") == (0, " ala ma\tkota.\r\n\ntak,\n", "")
    assert tag("-", stdin="polsko niemiecki kot") == (0, "polsko-niemiecki kot", "")


def test_marks_are_kept_or_replaced(tag):
    given = "ala. ma kota, tak . U.S. 3.5 -5\n"
    assert tag(stdin=given)[1] == given
    assert tag("--keep-marks", stdin=given)[1] == given
    assert tag("--replace-marks", stdin=given)[1] == "ala ma kota. tak, U.S. 3.5 -5\n"


def test_marks_of_a_column_are_kept_with_a_note(tag):
    given = "ala\tO\nma\t?\nkota\tO\n"
    assert tag("--from", "conll", stdin=given) == (
        0,
        "ala\tO\nma\t?\nkota\t.\n",
        "crfpunct: 1 words had a mark in a column of their own and keep it; --replace-marks decides again.\n",
    )
    assert tag("--from", "conll", "--replace-marks", stdin=given) == (0, "ala\tO\nma\tO\nkota\t.\n", "")


def test_paragraphs(tag):
    given = "ala\nma\nkota\n\n\ntak\n"
    assert tag("--paragraphs", stdin=given)[1] == "ala\nma\nkota.\n\n\ntak,\n"
    code, _, error = tag("--paragraphs", "--from", "srt", stdin=given)
    assert code == 2
    assert "--paragraphs goes with the format text or paragraphs, not with srt" in error


def test_columns(tag):
    given = "x\tala\tO\ty\nx\tkota\tO\tz\n"
    assert tag("--columns", "2,3", stdin=given)[1] == "x\tala\tO\ty\nx\tkota\t.\tz\n"
    assert tag("--columns", "2,3", "--to", "text", stdin=given)[1] == "ala kota.\n"
    code, _, error = tag("--columns", "2", stdin=given)
    assert (code, error.count("\n")) == (1, 1)
    assert "two different numbers from 1" in error
    assert tag("--columns", "2,3", "--from", "ctm", stdin=given)[0] == 2


def test_marginals(tag):
    code, out, _ = tag("--marginals", stdin="ala ma kota\n")
    [line] = map(json.loads, out.splitlines())
    assert (code, [entry["mark"] for entry in line["words"]]) == (0, ["", "", "."])
    assert all(0.5 < entry["probability"] <= 1 for entry in line["words"])
    assert tag("--marginals", "--to", "srt")[0] == 2


@pytest.mark.parametrize("option", ["--marginals", "--replace-marks"])
def test_what_is_about_marks_goes_not_without_them(tag, option):
    code, _, error = tag(option, "--no-punct")
    assert (code, f"{option} is about marks that are placed; leave out --no-punct" in error) == (2, True)


def test_marginals_of_json_texts_keep_the_text(tag):
    given = '{"id": 7, "text": "ala ma  kota"}\n'
    [line] = map(json.loads, tag("--marginals", "--from", "jsonl", stdin=given)[1].splitlines())
    assert (line["id"], line["text"]) == (7, "ala ma  kota.")
    assert [entry["word"] for entry in line["words"]] == ["ala", "ma", "kota"]


CUES = "1\n00:00:01,000 --> 00:00:03,000\nala ma\n\n2\n00:00:03,000 --> 00:00:05,000\nkota ala\n"


def test_resegment(tag):
    code, out, _ = tag("--resegment", stdin=CUES)
    assert code == 0
    assert out.startswith("1\n00:00:01,000 --> 00:00:04,000\n")
    assert [block.split("\n")[2] for block in out.split("\n\n")[:-1]] == ["ala ma kota.", "ala"]
    assert tag("--resegment", "--to", "vtt", stdin=CUES)[1].startswith("WEBVTT\n\n")
    code, _, error = tag("--resegment", stdin="ala ma\n")
    assert (code, error) == (
        1,
        "crfpunct: -: --resegment makes subtitles, but the output is text; add --to srt or vtt.\n",
    )
    assert "no word has a time" in tag("--resegment", "--to", "srt", stdin="ala ma\n")[2]


def test_sentences(tag):
    assert tag("--to", "sentences", stdin="ala ma kota tak ma ala\n")[1] == "ala ma kota.\ntak, ma ala\n"


def test_converting_needs_no_model(tag):
    expected = "ala\nma\n"
    assert tag("--no-punct", "--no-case", "--to", "conll", stdin="ala ma\n", model="none")[1] == "ala\tO\nma\tO\n"
    assert tag("--no-punct", "--no-case", "--to", "paragraphs", stdin=expected, model="none")[1] == "ala\n\nma\n"
    tokenised = "the  end .\r\n"
    assert tag("--no-punct", "--no-case", stdin=tokenised, model="none")[1] == tokenised


# ---------------------------------------------------------------- word by word


def test_look_ahead(tag):
    assert tag("--lookahead", "3", stdin=" ala ma\nkota  polsko niemiecki") == (
        0,
        " ala ma\nkota.  polsko-niemiecki",
        "",
    )
    code, out, error = tag("--lookahead", "3", stdin="ala ma kota tak ma\nał ".encode() + b"\xb3\n")
    assert (code, out.startswith("ala")) == (1, False)
    assert error.startswith("crfpunct: -:2: the byte 0xb3 is not UTF-8;")


@pytest.mark.parametrize("option", [["--to", "srt"], ["--replace-marks"], ["--marginals"], ["--no-punct"]])
def test_look_ahead_goes_with_plain_text_alone(tag, option):
    code, _, error = tag("--lookahead", "3", *option)
    assert code == 2
    assert f"leave out {option[0]}" in error


@pytest.fixture
def piped(model):
    """The program with standard input and output as pipes that stay open."""
    started = []

    def start(*arguments):
        command = [sys.executable, "-c", "from crfpunct.cli import main; main()", "tag", "--model", model, *arguments]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
        process.stderr.close()


def answer(process, size, seconds=30.0):
    """So many bytes of output, or what there was before time ran out."""
    found = b""
    until = time.monotonic() + seconds
    while len(found) < size and select.select([process.stdout], [], [], max(0, until - time.monotonic()))[0]:
        chunk = os.read(process.stdout.fileno(), size - len(found))
        if not chunk:
            break
        found += chunk
    return found.decode()


STREAMS = {
    "text": (["ala ma kota\n", "tak ma\n"], ["ala ma kota.\n", "tak, ma\n"]),
    "jsonl": (['{"id": 1, "text": "ala ma kota"}\n'] * 2, ['{"id": 1, "text": "ala ma kota."}\n'] * 2),
    "vosk": (
        ['{\n  "text" : "ma kota"\n}\n', '\n{"text": "ala"}\n'],
        ['{\n  "text" : "ma kota."\n}\n', '\n{"text": "ala"}\n'],
    ),
    "paragraphs": (["ala\nma kota\n\n", "tak\n\n"], ["ala\nma kota.\n\n", "tak,\n\n"]),
}


@pytest.mark.parametrize("format", STREAMS)
def test_each_line_is_answered_while_the_pipe_is_open(piped, format):
    process = piped("-", "--from", format)
    for line, expected in zip(*STREAMS[format], strict=True):
        process.stdin.write(line.encode())
        assert answer(process, len(expected.encode())) == expected
    # Half a line is no line, but what is there at the end is one.
    if format == "text":
        process.stdin.write(b"ma ko")
        assert answer(process, 1, 0.3) == ""
        process.stdin.write(b"ta")
        process.stdin.close()
        assert answer(process, 100) == "ma kota."
    process.stdin.close()
    assert process.wait(30) == 0


def test_each_word_is_answered_while_the_pipe_is_open(piped):
    process = piped("-", "--lookahead", "2")
    process.stdin.write(b"ala ma kota ma ala ")
    assert answer(process, len("ala ma kota.")) == "ala ma kota."
    process.stdin.write(b"polsko niemiec")
    process.stdin.write(b"ki")
    process.stdin.close()
    assert answer(process, 100).endswith("polsko-niemiecki")
    assert process.wait(30) == 0


def test_nothing_is_written_for_a_reader_that_left(piped):
    process = piped("-")
    process.stdin.write(b"ala ma kota\n")
    assert answer(process, 5)
    process.stdout.close()
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(b"ala ma kota\n")
        assert process.wait(30) in (0, 1)
        process.stdin.write(b"ala ma kota\n")
    assert process.stderr.read() == b""


# ---------------------------------------------------------------- files, many and bad

BAD = {
    "cut.json": (b'{"text": "ala ma', ":1: broken JSON at column"),
    "shape.json": (b'{"foo": [1]}', ":1: JSON with the keys foo, expected segments"),
    "digits.json": (b'{"text": ' + b"9" * 5000 + b"}", ":1: JSON with a number of thousands of digits"),
    "digits.jsonl": (b'{"id": ' + b"9" * 5000 + b"}", ":1: JSON with a number of thousands of digits"),
    "deep.json": (b"[" * 100000, ":1: JSON nested too deep"),
    "deep.jsonl": (b'{"id": ' + b"[" * 100000, ":1: broken JSON"),
    "mixed.txt": (b"ala\n" + "żal".encode("cp1250"), ":2: byte 1 (0xbf) is not UTF-8"),
    "wide.srt": ("1\n00:00:01,000 --> 00:00:02,000\nżal".encode("cp1250"), ":3: byte 1 (0xbf) is not UTF-8"),
    "broken.srt": (b"1\n00:00:01,000 --> 00:0x\nala", ":2: broken cue '00:00:01,000 --> 00:0x', expected"),
    "back.srt": (b"1\n00:00:03,000 --> 00:00:02,000\nala", ":2: the cue ends at 2000 ms, before it starts"),
    "long.srt": (b"1\n" + b"9" * 5000 + b":00:03,000 --> 00:00:02,000\nala", ":2: broken cue"),
    "far.vtt": (b"WEBVTT\n\n" + b"9" * 30 + b":00:03.000 --> 00:00:02.000\nala", ":3: broken cue"),
    "few.ctm": (b"a A 0.1 0.2 ala\na A 0.3\n", ":2: 3 fields, expected file channel start duration word"),
    "before.ctm": (b"a A -1 0.2 ala\n", ":1: start '-1' and duration '0.2', expected seconds of at least 0"),
    "back.clntmstmp": (b"(5,3) ala\n", ":1: the word 'ala' ends at 3 ms, before it starts (5 ms)"),
    "tabs.tsv": (b"a\tala\nma\n", ":2: 0 tabs, expected id TAB text"),
    "cut.txt.gz": (b"\x1f\x8b\x08\x00", ": damaged .gz file"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_clear_line(tag, tmp_path, name):
    raw, expected = BAD[name]
    (tmp_path / name).write_bytes(raw)
    (tmp_path / "out").write_text("as it was", encoding="utf-8")
    code, _, error = tag(name, "-o", "out")
    assert (code, error.count("\n")) == (1, 1)
    assert error.startswith(f"crfpunct: {name}{expected}")
    assert (tmp_path / "out").read_text(encoding="utf-8") == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "out"])


def test_half_a_character_in_json(tag, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "\\ud800 ż", "words": ["kota"]}\n', encoding="utf-8")
    code, out, _ = tag("a.jsonl")
    assert (code, json.loads(out)["words"]) == (0, [{"word": "kota", "mark": "."}])
    (tmp_path / "b.jsonl").write_text('{"id": "b", "text": "\\ud800 ż"}\n', encoding="utf-8")
    code, out, error = tag("b.jsonl", "--to", "text")
    assert (code, out, error.count("\n")) == (1, "", 1)
    assert error.startswith("crfpunct: b.jsonl:1: ")


def test_in_a_batch_the_others_go_on(tag, tmp_path):
    names = [*BAD, "good.txt", "missing.txt"]
    for name, (raw, _) in BAD.items():
        (tmp_path / name).write_bytes(raw)
    (tmp_path / "good.txt").write_text("ala ma kota\n", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    code, out, error = tag(*names, "folder", "-o", "folder")
    assert (code, out) == (1, "")
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["good.txt"]
    assert (tmp_path / "folder" / "good.txt").read_text(encoding="utf-8") == "ala ma kota.\n"
    lines = error.splitlines()
    assert len(lines) == len(BAD) + 3
    assert lines[-1] == f"crfpunct: {len(BAD) + 2} of {len(BAD) + 3} inputs failed; the others are done."


def test_results_have_names_of_their_own(tag, tmp_path):
    for folder in ("a", "b", "out"):
        (tmp_path / folder).mkdir()
    for name in ("a/x.srt", "b/x.srt"):
        (tmp_path / name).write_text(CUES, encoding="utf-8")
    code, _, error = tag("a/x.srt", "b/x.srt", "-o", "out")
    assert code == 1
    assert "would be the result of both a/x.srt and b/x.srt" in error
    assert tag("a/x.srt", "-", "-o", "out", "--to", "vtt", "--from", "srt", stdin=CUES)[0] == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["stdin.vtt", "x.vtt"]
    code, _, error = tag("a/x.srt", "b/x.srt", "-o", "new")
    assert (code, "not a folder, but there are several inputs" in error) == (1, True)


def test_an_input_can_be_its_own_output(tag, tmp_path):
    (tmp_path / "x.txt").write_text("ala ma kota\n", encoding="utf-8")
    assert tag("x.txt", "-o", "x.txt")[0] == 0
    assert (tmp_path / "x.txt").read_text(encoding="utf-8") == "ala ma kota.\n"


def test_a_format_that_there_is_not(tag):
    code, _, error = tag("--to", "docx", stdin="ala")
    assert code == 1
    assert error.startswith("crfpunct: unknown format 'docx'; the formats are ")


def test_no_standard_input(monkeypatch, model, capsys):
    monkeypatch.setattr(sys, "argv", ["crfpunct", "tag", "--model", model])
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 1
    assert capsys.readouterr().err == "crfpunct: -: there is no standard input; name a file.\n"


def test_other_words_are_never_written(tag, monkeypatch, tmp_path):
    from crfpunct.restorer import Restorer

    def wrong(_, documents, **_options):
        for document in documents:
            words = [*document.words[:-1], "psa"]
            yield Document(document.id, words, document.times_ms, None, document.source, document.layout)

    monkeypatch.setattr(Restorer, "tag", wrong)
    (tmp_path / "x.txt").write_text("ala ma kota\n", encoding="utf-8")
    code, out, error = tag("x.txt")
    assert (code, out) == (1, "")
    assert error == (
        'crfpunct: x.txt:1: "psa" would be written for "kota"; words are never changed but for case and '
        "the marks behind them.\n"
    )
    monkeypatch.setattr(Restorer, "tag", lambda _, documents, **_options: (Document("", ["ala"]) for _ in documents))
    assert "1 words to write, but 3 were read; words are never added or taken away." in tag("x.txt")[2]


def test_times(tag, tmp_path):
    (tmp_path / "times").mkdir()
    (tmp_path / "times" / "a.clntmstmp").write_text("(0,10) ala\n(20,30) kota\n", encoding="utf-8")
    code, out, _ = tag("--times", "times", "--from", "wikipunct", "--to", "ctm", stdin="a\tala kota\n")
    assert (code, np.array([line.split()[2] for line in out.splitlines()], dtype=float).tolist()) == (0, [0.0, 0.02])


# ---------------------------------------------------------------- several processes


def test_jobs_over_files_are_as_one_by_one(tag, tmp_path):
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text(f"ala ma kota {name[0]}\n" * 3, encoding="utf-8")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    names = [str(tmp_path / name) for name in ("a.txt", "bad.json", "b.txt", "c.txt")]
    alone = tag(*names, "--output", str(tmp_path / "one"))
    together = tag(*names, "--output", str(tmp_path / "two"), "--jobs", "2")
    assert alone[0] == together[0] == 1
    assert alone[2] == together[2]
    assert "bad.json:1: " in together[2]
    for name in ("a.txt", "b.txt", "c.txt"):
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()
    assert not (tmp_path / "two" / "bad.json").exists()


def test_jobs_over_one_file_keep_its_order(tag, tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"ala ma kota {n}\n" for n in range(500)), encoding="utf-8")
    alone = tag(str(tmp_path / "a.txt"))
    together = tag(str(tmp_path / "a.txt"), "--jobs", "2", "--output", str(tmp_path / "out.txt"))
    assert together[0] == 0
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == alone[1]


def test_no_process_at_all_is_wrong_usage(tag):
    assert tag("--jobs", "0", stdin="ala\n")[0] == 2


def test_what_can_be_read_once_only_is_not_looked_at_twice(tag, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    code, out, err = tag(str(tmp_path / "pipe"))
    assert (code, out) == (1, "")
    assert "pipe: is no regular file, so its format cannot be found out beforehand; name it with --from" in err


def test_a_name_with_a_line_break_stays_in_one_line(tag):
    code, _, err = tag("no\nfile.txt")
    assert code == 1
    assert len(err.splitlines()) == 1


def test_standard_input_is_named_once(tag):
    assert tag("-", "-", stdin="ala\n")[0] == 2


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_name_that_the_machine_refuses_stops_no_other(tag, tmp_path, jobs):
    (tmp_path / "a.txt").write_text("ala ma kota\n", encoding="utf-8")
    (tmp_path / "out").mkdir()
    long = str(tmp_path / ("n" * 300 + ".txt"))
    code, _, err = tag(long, str(tmp_path / "a.txt"), "--output", str(tmp_path / "out"), "--jobs", jobs)
    assert code == 1
    assert "1 of 2 inputs failed" in err
    assert (tmp_path / "out" / "a.txt").read_text(encoding="utf-8") == "ala ma kota.\n"


SRT = "1\n00:00:01,000 --> 00:00:02,000\nala ma kota\n"


@pytest.mark.parametrize(
    ("given", "options", "output", "written"),
    [
        ("a.srt", (), "b.vtt", "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nala ma kota.\n"),
        ("a.srt", (), "b.txt", "ala ma kota.\n"),
        ("a.srt", (), "b.srt", SRT.replace("kota", "kota.")),
        ("a.tsv", (), "b.tsv", "polsko- niemiecki\n"),
        ("a.srt", (), "b", SRT.replace("kota", "kota.")),
        ("a.srt", ("--to", "text"), "b.vtt", "ala ma kota.\n"),
        ("a.srt", ("--resegment",), "b.vtt", "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nala ma kota.\n"),
        ("a.srt", (), ".", SRT.replace("kota", "kota.")),
        ("a.tsv", (), "b.txt", "polsko- niemiecki\n"),  # plain text as well, and as the task wants it
        ("a.txt", ("--paragraphs",), "b.txt", "ala\nma kota.\n"),
    ],
)
def test_the_name_of_the_output_says_its_format(tag, tmp_path, given, options, output, written):
    (tmp_path / "a.srt").write_text(SRT)
    (tmp_path / "a.tsv").write_text("id1\tpolsko niemiecki\n")
    (tmp_path / "a.txt").write_text("ala\nma kota\n")
    (tmp_path / "out").mkdir()
    assert tag(given, *options, "-o", f"out/{output}") == (0, "", "")
    [path] = (tmp_path / "out").iterdir()
    assert path.read_text() == written


def test_one_big_file_in_several_processes_has_the_format_of_its_name(tag, tmp_path):
    (tmp_path / "a.txt").write_text("ala ma kota\n" * 3)
    assert tag("a.txt", "-o", "b.conll", "--jobs", "2")[0] == 0
    assert (tmp_path / "b.conll").read_text().startswith("ala\tO\nma\tO\nkota\t.\n")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_file_in_another_language_than_the_models_is_named(tag, model, tmp_path, jobs):
    content = model_folder.read(model)
    part = {"punct": content.manifest["punct"], "language": "pl"}
    model_folder.write(tmp_path / "pl", ModelFolder(part, content.files))
    (tmp_path / "out").mkdir()
    for name, language in (("en", "en"), ("us", "en-US"), ("english", "English"), ("pl", "pl"), ("polish", "polish")):
        (tmp_path / f"{name}.json").write_text(json.dumps({"text": " ala", "segments": [], "language": language}))
    (tmp_path / "cpp.json").write_text(json.dumps({"transcription": [{"text": " ala"}], "result": {"language": "de"}}))
    (tmp_path / "vosk.jsonl").write_text(json.dumps({"text": "ala", "language": "uk"}))
    note = "crfpunct: the input says its language is {}, the model's is pl; choose one with --model.\n"
    for name in ("en.json", "us.json", "english.json"):
        assert tag(name, "--from", "whisper", model="pl")[2] == note.format("en")
    assert tag("cpp.json", model="pl")[2] == note.format("de")
    assert tag("vosk.jsonl", "--from", "vosk", model="pl")[2] == note.format("uk")
    assert tag("pl.json", "polish.json", "--from", "whisper", model="pl")[2] == ""
    assert tag("en.json", "--from", "whisper")[2] == ""  # the model does not say its own
    inputs = [tmp_path / f"{name}.json" for name in ("en", "pl", "cpp")]  # a worker may stand in another folder
    options = ("--from", "whisper", "-o", tmp_path / "out", "--jobs", jobs)
    assert tag(*inputs, *options, model=str(tmp_path / "pl"))[2] == note.format("de, en")


@pytest.mark.parametrize("options", [(), ("--from", "text"), ("--from", "srt"), ("--lookahead", "3")])
def test_utf16_has_one_message(tag, tmp_path, options):
    (tmp_path / "a.txt").write_bytes("ala ma kota\n".encode("utf-16"))
    assert tag("a.txt", *options) == (
        1,
        "",
        "crfpunct: a.txt: is UTF-16, expected UTF-8; convert it with iconv -f UTF-16 -t UTF-8.\n",
    )


def test_lookahead_is_for_plain_text(tag, tmp_path):
    (tmp_path / "a.srt").write_text(SRT)
    (tmp_path / "a.txt").write_text("ala ma kota\n")
    code, out, err = tag("a.srt", "--lookahead", "3")
    assert (code, out) == (1, "")
    assert err == "crfpunct: a.srt: looks like srt, but --lookahead is for plain text; leave it out.\n"
    assert tag("a.txt", "--lookahead", "3", "-o", "b.vtt")[0] == 1
    assert not (tmp_path / "b.vtt").exists()
    assert tag("a.txt", "--lookahead", "3") == (0, "ala ma kota.\n", "")


@pytest.mark.parametrize("option", ["--output", "--times"])
def test_an_empty_name_is_not_the_folder_that_one_is_in(tag, tmp_path, option):
    (tmp_path / "a.txt").write_text("ala ma kota\n")
    code, _, err = tag("a.txt", option, "")
    assert (code, err.count("\n")) == (1, 1)
    assert f"{option} has an empty name" in err
    assert (tmp_path / "a.txt").read_text() == "ala ma kota\n"


def test_what_is_replaced_keeps_its_permissions(tag, tmp_path):
    (tmp_path / "b.txt").touch(0o600)
    (tmp_path / "b.txt").chmod(0o600)
    assert tag("-o", "b.txt", stdin="ala ma kota\n")[0] == 0
    assert (tmp_path / "b.txt").stat().st_mode & 0o777 == 0o600
    long = "b" * 250 + ".txt"
    assert tag("-o", long, stdin="ala ma kota\n") == (0, "", "")
    assert (tmp_path / long).read_text() == "ala ma kota.\n"


def test_a_note_on_texts_that_have_marks(tag):
    code, _, err = tag(stdin="ala, ma kota. i kot\n")
    assert (code, err) == (
        0,
        "crfpunct: 2 words end in a mark already and keep it, and more marks are added; see --replace-marks.\n",
    )
    assert tag("--replace-marks", stdin="ala, ma kota. i kot\n")[2] == ""


def test_biases_that_are_no_numbers_together_either(tag):
    code, _, err = tag("--bias", ".=9e5", "--bias", ".=9e5", stdin="ala\n")
    assert code == 2
    assert "expected MARK=VALUE" in err
