"""Saved runs to files that other programs open, with nothing in them that could do harm (docs/exports.md).

A format is one :class:`~proverbench.show.exports.export.Export` in a module of its own, listed in registry.py.
"""
