"""Punctuation and capitals for speech-recogniser output, with classical CRFs on a CPU."""

__version__ = "0.1.0"
