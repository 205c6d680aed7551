"""A run's folder: what is saved, read back, derived and merged."""
