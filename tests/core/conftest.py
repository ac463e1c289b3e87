"""Hypothesis without time limits: a shared machine is slow now and then, which is no defect."""

from hypothesis import settings

settings.register_profile("core", deadline=None)
settings.load_profile("core")
