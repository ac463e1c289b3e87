"""The program around its commands: options before and behind their names, and pipes that close."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = [sys.executable, "-c", "from crfpunct.cli import main; main()"]


def run(*arguments, cwd):
    done = subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, cwd=cwd, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "reference.txt").write_text("Ala ma kota, tak.\n")
    (tmp_path / "output.txt").write_text("Ala ma kota tak.\n")
    return tmp_path


def test_quiet_and_debug_stand_before_or_behind_the_command(folder):
    evaluate = ("evaluate", "reference.txt", "output.txt")
    code, shown, notes = run(*evaluate, cwd=folder)
    assert (code, notes.startswith("crfpunct: One document only")) == (0, True)
    for arguments in (("-q", *evaluate), (*evaluate, "-q"), ("evaluate", "--quiet", *evaluate[1:])):
        assert run(*arguments, cwd=folder) == (0, shown, "")
    for arguments in (("--debug", "evaluate", "none", "none"), ("evaluate", "none", "none", "--debug")):
        code, _, error = run(*arguments, cwd=folder)
        assert (code, "Traceback" in error) == (1, True)
    assert "--quiet" in run("evaluate", "--help", cwd=folder)[1]


def test_a_reader_that_leaves_ends_the_program_quietly(folder):
    (folder / "long.txt").write_text("ala ma kota\n" * 200_000)
    command = [*PROGRAM, "tag", "long.txt", "--no-punct", "--no-case", "--to", "sentences"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder) as program:
        assert program.stdout.readline() == b"ala ma kota\n"
        program.stdout.close()
        assert program.stderr.read() == b""
        assert program.wait() == 0
