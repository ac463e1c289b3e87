"""Texts made by rule, for the tests of scoring."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

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


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with reference.txt and the outputs near.txt, far.txt, other.txt (other words) and same.txt."""
    reference = lines(1)
    outputs = {
        "reference": reference,
        "near": disturbed(reference, 2, 0.1),
        "far": disturbed(reference, 3, 0.6),
        "other": disturbed(reference, 4, 0.1, 0.1),
        "same": reference,
    }
    for name, texts in outputs.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    return tmp_path
