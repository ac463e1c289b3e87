"""The command line: parses, calls, prints. One module a group of commands; heavy imports stand inside them."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the program; interrupted while it is still being loaded, it ends as quietly as later."""
    try:
        from crfpunct.cli import app
    except KeyboardInterrupt:
        sys.exit(130)
    app.main()
