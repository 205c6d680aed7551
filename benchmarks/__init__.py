"""Speed and memory, measured as ratios in one run: ``python -m benchmarks`` (docs/performance.md)."""
