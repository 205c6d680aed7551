"""Scores and statistics: records or arrays in, numbers out; no I/O."""
