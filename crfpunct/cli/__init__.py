"""The command line: parses, calls, prints. One module a group of commands; heavy imports stand inside them."""

from crfpunct.cli.app import main

__all__ = ["main"]
