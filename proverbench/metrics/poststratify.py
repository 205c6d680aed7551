"""What a sample of labelled proofs says of all of a run's (docs/metrics.md, "Correcting for the judge"). Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.rates import table_of
from proverbench.metrics.strata import NAMES, Labelled, strata_of
from proverbench.metrics.summaries import Summary
from proverbench.metrics.uncertainty import significant


@dataclass(frozen=True)
class Strata:
    """The post-stratified estimate of one run."""

    summary: Summary
    """The share of judged proofs, the shares of all strata but the last, and the strata's label rates."""
    names: tuple[str, ...]
    shares: tuple[float, ...]
    rates: tuple[float, ...]
    labelled: tuple[int, ...]
    judged: float

    @property
    def g(self) -> Callable[..., float]:
        """The estimate as a function of the rates of ``summary``."""
        last = len(self.names) - 1

        def estimate(judged: float, *rest: float) -> float:
            shares = [*rest[:last], 1 - sum(rest[:last])]
            return judged * sum(w * p for w, p in zip(shares, rest[last:], strict=True))

        return estimate

    def value(self) -> float:
        """The estimate."""
        return self.g(self.judged, *self.shares[:-1], *self.rates)

    def rows(self) -> list[dict[str, Any]]:
        """The strata, for people."""
        columns = zip(self.names, self.shares, self.labelled, self.rates, strict=True)
        return [
            {"stratum": name, "share": significant(share), "labelled": count, "correct": significant(rate)}
            for name, share, count, rate in columns
        ]


def stratified(run: JudgmentArrays, labels: Labelled) -> Strata:
    """Post-stratify labels by the judge's verdicts.

    A stratum in which nothing is labelled is taken together with the one before it (the first: with the next).
    """
    judged, labelled = run.generated, labels.mask(run)
    index = strata_of(run.accepts, run.repeats)
    groups: list[list[int]] = []
    for k in range(len(NAMES)):
        if not (judged & (index == k)).any():
            continue
        if (groups and not (labelled & np.isin(index, [k])).any()) or (
            groups and not (labelled & np.isin(index, groups[-1])).any()
        ):
            groups[-1].append(k)
        else:
            groups.append([k])
    weights, human = labels.weights(run), labels.human(run)
    one = np.ones(len(run.keys))
    members = [judged & np.isin(index, group) for group in groups]
    names = tuple("+".join(NAMES[k] for k in group) for group in groups)
    columns: list[tuple[str, NDArray[Any], NDArray[Any]]] = [("judged", judged, one)]
    columns += [(f"share {name}", inside, judged) for name, inside in zip(names, members, strict=True)]
    columns += [
        (f"rate {name}", weights * (inside & human), weights * inside)
        for name, inside in zip(names, members, strict=True)
    ]
    counts = [int((labelled & inside).sum()) for inside in members]
    items = [len(run.keys), *[int(judged.sum())] * len(names), *counts]
    table = table_of(columns, run, items=items)
    point = table.point()
    kept = [0, *range(1, len(names)), *range(1 + len(names), 1 + 2 * len(names))]
    return Strata(
        summary=table.summary().only(kept),
        names=names,
        shares=tuple(point[f"share {name}"] for name in names),
        rates=tuple(point[f"rate {name}"] for name in names),
        labelled=tuple(counts),
        judged=point["judged"],
    )
