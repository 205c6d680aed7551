"""Runs spread over several processes or machines: shards, who works on them, and how they come back into one run."""
