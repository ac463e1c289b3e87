"""Several processes give what one gives, in the same order; what fails is named, and ends nothing else."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest

from crfpunct import attributes, formats, parallel
from crfpunct.attributes import Batch
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.marks import Typography
from crfpunct.observations import Observation
from crfpunct.punctuator import Punctuator
from crfpunct.restorer import Restorer
from crfpunct.templates import Template

WORDS = ["ala", "ma", "kota", "a", "kot", "ma", "alę", "w", "domu"]


def a_restorer() -> Restorer:
    """A model of random weights, so that most words get a mark."""
    rng = np.random.default_rng(0)
    templates = (
        Template("w", ((Observation("word"), 0),)),
        Template("pair", ((Observation("word"), 0), (Observation("word"), 1))),
    )
    index, _ = attributes.fit(Batch.of([Document("", WORDS)]), templates, {})
    weights = np.vstack([np.zeros((1, 3)), rng.normal(size=(index.count, 3))])
    chain = LinearChain(("", ".", ","), index, weights, rng.normal(size=(3, 3)), np.zeros(3))
    return Restorer(Punctuator(chain), Typography(), {})


@pytest.fixture
def lines(tmp_path) -> Path:
    rng = np.random.default_rng(1)
    path = tmp_path / "talks.txt"
    texts = [" ".join(rng.choice(WORDS, rng.integers(0, 30))) for _ in range(500)]
    texts[7] = "  ala\t ma kota. "
    path.write_bytes(("\r\n".join(texts[:9]) + "\n" + "\n".join(texts)).encode())
    return path


@pytest.fixture
def model(monkeypatch):
    """`load` gives the same model everywhere, worker threads included."""
    restorer = a_restorer()
    monkeypatch.setattr(parallel, "loaded", lambda _model, _bias: restorer)
    return restorer


def in_one_piece(restorer: Restorer, path: Path) -> bytes:
    out = io.StringIO(newline="")
    formats.write(restorer.tag(formats.read(path, "text")), out, "text", restorer.typography)
    return out.getvalue().encode()


# ---------------------------------------------------------------- shards


@pytest.mark.parametrize("size", [1, 7, 100, 4000, 1 << 20])
def test_shards_are_whole_lines_and_the_whole_file(lines, size):
    content = lines.read_bytes()
    pieces = [content[shard.start : shard.end] for shard in parallel.shards(lines, size)]
    assert b"".join(pieces) == content
    assert all(piece.endswith(b"\n") for piece in pieces[:-1])
    assert all(len(piece) >= size for piece in pieces[:-1])


def test_an_empty_file_has_no_shards(tmp_path):
    (tmp_path / "empty.txt").touch()
    assert list(parallel.shards(tmp_path / "empty.txt")) == []


@pytest.mark.parametrize("size", [300, 5000])
@pytest.mark.parametrize("backend", ["threading", "sequential"])
def test_shards_are_tagged_as_the_file_is(lines, model, size, backend):
    out = io.BytesIO()
    with joblib.parallel_config(backend):
        parallel.tag_lines(lines, parallel.LineTagger("any"), 2, out, size)
    assert out.getvalue() == in_one_piece(model, lines)


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_bad_line_has_its_number_in_the_file(lines, jobs):
    content = lines.read_bytes().split(b"\n")
    content[300] += b" \xff"
    lines.write_bytes(b"\n".join(content))
    with pytest.raises(CorpusError) as plain:
        list(formats.read(lines, "text"))
    out = io.BytesIO()
    with pytest.raises(CorpusError) as sharded, joblib.parallel_config("threading"):
        parallel.tag_lines(lines, parallel.LineTagger("any"), jobs, out, 300)
    assert str(sharded.value) == str(plain.value)
    assert ":301:" in str(plain.value)
    assert out.getvalue().count(b"\n") > 250


# ---------------------------------------------------------------- each


def made_halved():
    """A function that travels to workers as code, since they may not find this module to import it from."""

    def halved(number: int) -> int:
        import time

        from crfpunct.errors import CorpusError

        if number % 2:
            raise CorpusError(f"{number}: is odd, expected an even number.")
        time.sleep(0.01 * (number % 3))
        return number // 2

    return halved


halved = made_halved()


def assert_halves(found: list[object]) -> None:
    expected = [n // 2 if n % 2 == 0 else f"{n}: is odd, expected an even number." for n in range(12)]
    assert [str(x) if isinstance(x, CorpusError) else x for x in found] == expected


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_are_in_order_and_errors_among_them(jobs):
    assert_halves(list(parallel.each(halved, range(12), jobs)))


def test_other_errors_end_all():
    with joblib.parallel_config("threading"), pytest.raises(ZeroDivisionError):
        list(parallel.each(partial(divmod, 1), [1, 0, 2], 2))


def test_a_restorer_travels_to_the_workers():
    restorer = a_restorer()
    texts = [" ".join(WORDS[i:]) for i in range(len(WORDS))]
    assert list(parallel.each(restorer.restore, texts, 2)) == [restorer.restore(text) for text in texts]


def test_a_model_is_loaded_once():
    calls = []
    parallel.loaded.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "load", lambda model: calls.append(model) or a_restorer())
        assert parallel.loaded("x") is parallel.loaded("x")
    parallel.loaded.cache_clear()
    assert calls == ["x"]


@pytest.mark.skipif(os.name == "nt", reason="process groups")
def test_ctrl_c_ends_all_without_a_word_from_the_workers():
    code = (
        "import signal, time; from crfpunct import parallel\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where the tests run in the background
        "try:\n    results = parallel.each(time.sleep, [0.1, 0.1, 30, 30], 2)\n"
        "    next(results), next(results)\n    print('working', flush=True)\n    list(results)\n"
        "except KeyboardInterrupt:\n    print('ended', flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout.readline() == "working\n"
        time.sleep(1)  # both workers sleep for 30 s now
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        out, err = process.communicate(timeout=25)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert (out, err) == ("ended\n", "")


@pytest.mark.skipif(os.name == "nt", reason="process groups and named pipes")
def test_ctrl_c_leaves_no_temporary_file(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    for name in ("a", "b"):
        os.mkfifo(tmp_path / name)  # nobody writes to it, so that the workers wait with their outputs open
    code = (
        "import signal; from crfpunct.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "main()\n"
    )
    options = ["tag", "a", "b", "--no-punct", "--no-case", "--from", "text", "--output", "out", "--jobs", "2"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *options], cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 60
        while len([path for path in out.rglob("*.part") if path.is_file()]) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert process.returncode not in (0, 1)
    assert "Traceback" not in err
    assert list(out.iterdir()) == []


# ---------------------------------------------------------------- clusters


def test_dask():
    distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install 'crfpunct[cluster]'")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        assert_halves(list(parallel.each(halved, range(12), -1)))
        restorer = a_restorer()
        texts = [" ".join(WORDS[i:]) for i in range(len(WORDS))]
        assert list(parallel.each(restorer.restore, texts, -1)) == [restorer.restore(text) for text in texts]


def test_ray():
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'crfpunct[cluster]'")
    from ray.util.joblib import register_ray

    register_ray()
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        with joblib.parallel_config("ray"):
            assert_halves(list(parallel.each(halved, range(12), 2)))
    finally:
        ray.shutdown()
