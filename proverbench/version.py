"""The installed version."""

from importlib.metadata import version

__version__ = version("proverbench")
SCORED_BY = f"proverbench {__version__}"
"""Who made a derived file; stands in every summary."""
