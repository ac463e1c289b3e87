"""An import points to a lower layer only, and tagging imports nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import crfpunct

PACKAGE = Path(crfpunct.__file__).parent

#: From the bottom. A module may import those of the rows above it here, and itself (a package: its own modules).
#: The rows are those of the design, split where modules of one of its rows build on each other.
LAYERS = [
    ["errors"],
    ["resources", "files"],
    ["document", "marks", "casing"],
    ["observations", "decoding", "lookups"],
    ["formats", "templates", "model_folder"],
    ["attributes", "numbering", "clusters", "scoring"],
    ["chain", "word_types"],
    ["prior"],
    ["tables"],
    ["punctuator", "truecaser"],
    ["stream"],
    ["restorer"],
    ["estimators", "cards", "explanation"],
    ["training", "parallel", "report"],
    ["cli"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

#: An installed package has the feature files beside its modules, and what makes one of them.
MODULES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if (path.parent != PACKAGE or path.stem != "__init__") and path.parent != PACKAGE / "features"
)
ROOT_API = {"__version__", "load"}  # what the package itself offers; it brings no module with it


def name_of(path: Path) -> str:
    """The part of the package that a file belongs to: `cli/app.py` is of `cli`."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The parts of the package that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import; write it out"
            names = [node.module or ""]
            if node.module == "crfpunct":
                names = [f"crfpunct.{alias.name}" for alias in node.names if alias.name not in ROOT_API]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("crfpunct.")}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_an_import_points_to_a_lower_layer(path):
    name = name_of(path)
    assert name in RANK, f"{name} stands in no layer; give it its place in LAYERS"
    wrong = {other for other in imported(path) - {name} if RANK.get(other, len(LAYERS)) >= RANK[name]}
    assert not wrong, f"{name} imports {sorted(wrong)}, which do not stand below it"


def test_the_layers_are_looked_at():
    assert {"errors", "decoding", "attributes", "restorer", "cli"} <= {name_of(path) for path in MODULES}
    assert imported(PACKAGE / "attributes.py") >= {"document", "observations", "templates"}


HEAVY = ["sklearn", "sklearn_crfsuite", "pycrfsuite", "scipy", "pandas", "joblib", "rich", "matplotlib", "seqeval"]


def newly_loaded(module: str) -> set[str]:
    """Top-level packages that a fresh interpreter holds after an import."""
    code = f"import sys, {module}; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_tagging_imports_numpy_and_nothing_heavier():
    loaded = newly_loaded("crfpunct.restorer")
    assert "numpy" in loaded
    assert not loaded & set(HEAVY)
