"""What is heavy in learning word classes, on the processor (scikit-learn) or on a graphics card (cuML).

Both implementations have the same methods, take host arrays and give host arrays back, so that what is built on them
does not know which of them it has. This is the only module that imports cuML, cuDF or CuPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crfpunct.errors import BackendError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

INSTALL = "pip install 'crfpunct[cuda12]'"
SUPPORTED = "26."  # versions of cuML
#: Dense matrices of the size of its input that cuML's SVD and k-means hold at once: the input, and a copy in the other
#: order of axes. What else they need is counted apart.
_COPIES = 2

Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int64]


class Backend(Protocol):
    """Where the work is done; `name` is the device, "cpu" or "cuda"."""

    name: str

    def hash_ngrams(self, words: Sequence[str], lengths: tuple[int, int], columns: int) -> csr_matrix:
        """Character n-grams of lengths[0] … lengths[1] characters, counted under their hashes: (W, columns) float32.

        The column is |MurmurHash3 of the n-gram's UTF-8, as a signed 32-bit number| mod `columns`, a power of two.
        """
        ...

    def reduce(self, matrix: csr_matrix, dimensions: int, seed: int) -> tuple[Float32Array, Float32Array]:
        """Truncated SVD of a (W, C) matrix: left singular vectors times singular values (W, d), and the values (d,)."""
        ...

    def cluster(self, vectors: Float32Array, start: Float32Array, iterations: int) -> NDArray[np.int32]:
        """Lloyd's k-means of vectors (W, d) from the centres `start` (k, d): the cluster of each vector (W,)."""
        ...

    def chi2(self, observed: NDArray[np.float64], label_counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Pearson's chi-squared statistic of each attribute with the labels: (A,), 0 for an attribute never seen.

        observed (L, A): how often attribute and label occur together; label_counts (L,): how often each label does.
        """
        ...


class ScikitLearn:
    """scikit-learn and scipy, on one core of the processor.

    Several threads would add numbers up in an order of their own, so that the same texts would give other classes each
    time; and where other programs use the cores as well, they were eight times as slow as one.
    """

    name = "cpu"

    def hash_ngrams(self, words: Sequence[str], lengths: tuple[int, int], columns: int) -> csr_matrix:
        from sklearn.feature_extraction.text import HashingVectorizer

        vectorizer = HashingVectorizer(
            analyzer="char",
            ngram_range=lengths,
            n_features=columns,
            lowercase=False,
            alternate_sign=False,
            norm=None,
            dtype=np.float32,
        )
        return vectorizer.transform(words)

    def reduce(self, matrix: csr_matrix, dimensions: int, seed: int) -> tuple[Float32Array, Float32Array]:
        from sklearn.decomposition import TruncatedSVD
        from threadpoolctl import threadpool_limits

        svd = TruncatedSVD(dimensions, algorithm="randomized", n_iter=7, random_state=seed)
        with threadpool_limits(1):
            return svd.fit_transform(matrix).astype(np.float32), svd.singular_values_.astype(np.float32)

    def cluster(self, vectors: Float32Array, start: Float32Array, iterations: int) -> NDArray[np.int32]:
        from sklearn.cluster import KMeans
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            found = KMeans(len(start), init=start, n_init=1, max_iter=iterations, algorithm="lloyd").fit(vectors)
        return np.asarray(found.labels_, dtype=np.int32)

    def chi2(self, observed: NDArray[np.float64], label_counts: NDArray[np.float64]) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = _chi2(np, observed, label_counts)
        return scores


class CuML:
    """cuML, cuDF and CuPy, on the current CUDA device.

    cuML's SVD takes dense input: two copies of the (W, C) matrix and three (C, C) ones stand on the device at once, 4
    bytes a number. What does not fit is a BackendError before anything is copied.
    """

    name = "cuda"

    def __init__(self) -> None:
        check_cuda()

    def hash_ngrams(self, words: Sequence[str], lengths: tuple[int, int], columns: int) -> csr_matrix:
        import cudf
        from cuml import using_output_type
        from cuml.feature_extraction.text import HashingVectorizer

        vectorizer = HashingVectorizer(
            analyzer="char",
            ngram_range=lengths,
            n_features=columns,
            lowercase=False,
            alternate_sign=False,
            norm=None,
            dtype=np.float32,
        )
        with using_output_type("cupy"):
            return vectorizer.fit_transform(cudf.Series(list(words))).get()

    def reduce(self, matrix: csr_matrix, dimensions: int, seed: int) -> tuple[Float32Array, Float32Array]:
        import cupyx.scipy.sparse
        from cuml.decomposition import TruncatedSVD

        rows, columns = matrix.shape
        _check_memory(4 * (_COPIES * rows * columns + 3 * columns * columns), f"the SVD of {rows:,} × {columns:,}")
        dense = cupyx.scipy.sparse.csr_matrix(matrix).toarray(order="F")
        svd = TruncatedSVD(n_components=dimensions, algorithm="full", random_state=seed, output_type="numpy")
        return np.asarray(svd.fit_transform(dense)), np.asarray(svd.singular_values_)

    def cluster(self, vectors: Float32Array, start: Float32Array, iterations: int) -> NDArray[np.int32]:
        from cuml.cluster import KMeans

        # Distances are computed for 32,768 vectors at once, cuML's default.
        needed = 4 * (_COPIES * vectors.size + 2 * start.size + 32768 * len(start))
        _check_memory(needed, f"k-means of {len(vectors):,} words in {len(start):,} classes")
        found = KMeans(n_clusters=len(start), init=start, n_init=1, max_iter=iterations, output_type="numpy")
        return np.asarray(found.fit(vectors).labels_, dtype=np.int32)

    def chi2(self, observed: NDArray[np.float64], label_counts: NDArray[np.float64]) -> NDArray[np.float64]:
        import cupy

        scores: NDArray[np.float64] = cupy.asnumpy(_chi2(cupy, cupy.asarray(observed), cupy.asarray(label_counts)))
        return scores


def _chi2(xp: Any, observed: Any, label_counts: Any) -> Any:
    """Chi-squared with nothing but the array functions that numpy and CuPy share (`xp` is either).

    As in scikit-learn, only the occurrences of an attribute are compared with what is expected, not its absences.
    """
    expected = label_counts[:, None] / xp.maximum(label_counts.sum(), 1) * observed.sum(axis=0)[None, :]
    difference = observed - expected
    return (difference * difference / xp.where(expected > 0, expected, 1)).sum(axis=0)


def _check_memory(needed: int, what: str) -> None:
    import cupy

    free, _total = cupy.cuda.runtime.memGetInfo()
    if needed > free:
        raise BackendError(
            f"cuda: {what} needs {needed / 1e9:.1f} GB on the device, {free / 1e9:.1f} GB are free; "
            f"free some, use a smaller --window or a larger --min-count, or --device cpu."
        )


def check_cuda() -> None:
    """Raise BackendError where cuML cannot be used: it is not installed, not of a version known, or has no device."""
    try:
        import cupy
    except ImportError as error:
        raise BackendError(f"cuda: CuPy is not installed ({error}); {INSTALL}, or use --device cpu.") from error
    # Importing cuML proves nothing: it succeeds on machines without a driver.
    if not cupy.cuda.is_available():
        raise BackendError(
            f"cuda: no CUDA device or no driver for it was found; use --device cpu, or install the driver ({INSTALL})."
        )
    try:
        import cuml
    except ImportError as error:
        raise BackendError(f"cuda: cuML is not installed ({error}); {INSTALL}, or use --device cpu.") from error
    if not cuml.__version__.startswith(SUPPORTED):
        raise BackendError(
            f"cuda: cuML {cuml.__version__} is installed, expected {SUPPORTED}x; {INSTALL}, or use --device cpu."
        )


#: Device -> what works there. Tests put scikit-learn in the place of cuML.
BACKENDS: dict[str, Callable[[], Backend]] = {"cpu": ScikitLearn, "cuda": CuML}


def choose(device: str) -> tuple[Backend, str]:
    """The backend of a device ("cpu", "cuda", or "auto": cuda where there is one), and why it was taken, in one line.

    Raises BackendError where "cuda" was asked for and cannot be had.
    """
    if device != "auto":
        return BACKENDS[device](), f"device {device}, as asked."
    try:
        return BACKENDS["cuda"](), "device cuda: a graphics card and cuML were found."
    except BackendError as error:
        return BACKENDS["cpu"](), f"device cpu ({str(error).partition(';')[0].removeprefix('cuda: ')})."
