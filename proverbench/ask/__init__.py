"""Asking: from options to calls, through pipeline and batches, on one machine or several."""
