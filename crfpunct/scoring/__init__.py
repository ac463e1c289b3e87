"""Scores of punctuation, casing and words, each computed from one table of integer counts per document.

Counts come first and scores last: sums, confidence intervals and significance tests all read the same table.
Scores are percentages, but for counts; an undefined score (0/0) is `nan` here, and is
printed as an en dash. `docs/evaluation.md` defines every score.
"""
