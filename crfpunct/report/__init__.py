"""Scores and comparisons for readers and programs: table, JSON, Markdown, LaTeX, HTML.

`tables` lays results out once, as tables of text; `terminal`, `markup` and `page` print those tables; `data` writes the
numbers themselves, under the schema of docs/evaluation.md.
"""
