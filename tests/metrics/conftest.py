"""Properties are checked without a deadline: the machine that runs them may be busy."""

from hypothesis import settings

settings.register_profile("metrics", deadline=None, max_examples=25)
settings.load_profile("metrics")
