"""The errors that crfpunct raises on purpose.

Each message is one line that says where the problem stands, what was found, what was expected and what to
do. The command line prints it behind ``crfpunct:`` and exits with 1; any other exception is a defect of ours.
"""


class CrfpunctError(Exception):
    """Base of all errors that are the data's, the model's or the installation's, not the program's."""


class CorpusError(CrfpunctError):
    """A text, a time file or a training set that cannot be used as it is."""


class TemplateError(CrfpunctError):
    """A feature file with mistakes (all of them are named at once)."""


class ModelError(CrfpunctError):
    """A model folder that is missing, damaged, altered or newer than this program."""


class BackendError(CrfpunctError):
    """An optional package or device that was asked for and is not there."""
