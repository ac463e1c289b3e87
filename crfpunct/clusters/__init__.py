"""Word classes learned from raw text, and the choice of attributes for training. Never imported when tagging.

`classes` says how classes are learned; `backend` holds what is done on the processor or on a graphics card.
"""

from crfpunct.clusters.backend import BACKENDS, Backend, choose
from crfpunct.clusters.classes import Options, WordClasses, learn, tokens

__all__ = ["BACKENDS", "Backend", "Options", "WordClasses", "choose", "learn", "tokens"]
