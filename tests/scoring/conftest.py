"""Texts made by rule, for the tests of scoring."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from crfpunct.scoring.texts import Text

WORDS = ["dom", "kot", "rzeka", "droga", "noc", "dzień", "okno", "Ania", "Wisła", "ONZ", "McKinley", "cicho", "pada"]
MARKS = ["", "", "", "", "", "", ".", ",", "?", "!", "-", ":", ";", "..."]


def lines(seed: int, documents: int = 12, words: int = 30) -> list[str]:
    """Punctuated lines."""
    generator = random.Random(seed)
    return [" ".join(generator.choice(WORDS) + generator.choice(MARKS) for _ in range(words)) for _ in range(documents)]


def disturbed(texts: list[str], seed: int, marks: float = 0.2, words: float = 0.0) -> list[str]:
    """Lines with other marks behind a share of the words, and a share of the words lost, doubled or replaced."""
    generator = random.Random(seed)
    result = []
    for text in texts:
        tokens = []
        for token in text.split():
            word = token.rstrip(".,?!-:;")
            mark = token[len(word) :]
            if generator.random() < marks:
                mark = generator.choice(MARKS)
            if generator.random() < marks / 2:
                word = word.swapcase()
            if generator.random() < words:
                word = generator.choice(["", word + " " + word, generator.choice(WORDS)])
            if word:
                tokens.append(word + mark)
        result.append(" ".join(tokens))
    return result


@pytest.fixture(scope="session")
def outputs() -> dict[str, list[str]]:
    """A reference and outputs of it: near, far, other (other words), same."""
    reference = lines(1)
    return {
        "reference": reference,
        "near": disturbed(reference, 2, 0.1),
        "far": disturbed(reference, 3, 0.6),
        "other": disturbed(reference, 4, 0.1, 0.1),
        "same": reference,
    }


@pytest.fixture(scope="session")
def texts(outputs: dict[str, list[str]]) -> dict[str, Text]:
    """The same as texts named `near.txt` and so on."""
    return {name: Text.of(output, f"{name}.txt") for name, output in outputs.items()}


@pytest.fixture
def files(tmp_path: Path, outputs: dict[str, list[str]]) -> Path:
    """A folder with the same as files."""
    for name, output in outputs.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(output) + "\n", encoding="utf-8")
    return tmp_path
