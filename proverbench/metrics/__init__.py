"""Scores and statistics: records or arrays in, numbers out; no I/O. Every formula is in docs/metrics.md.

- ``metric.py``: what a metric is; ``proverbench.py``, ``verifierbench.py``: the published ones; ``registry.py``: all.
- ``arrays.py``: closed records as compact arrays; everything below takes those.
- ``rates.py``: every metric as a function of ratios of sums over problems, the form that inference needs.
- ``scores.py``: the scores themselves, exact.
- ``uncertainty.py``: intervals and bounds; :func:`~proverbench.metrics.uncertainty.split_uncertainty` is what stands
  beside a split's scores in summary.json.
- ``voting.py``: other rules and numbers of repeats and samples, from one run.
- ``comparison.py``: differences between runs, paired.
- ``correction.py``: scores corrected for the judge's own error.
- ``agreement.py``: repeats, judges and people.
- ``breakdown.py``: parts of a split.
"""
