"""The published VerifierBench metrics (docs/metrics.md, "VerifierBench" and "Meta-verification").

Source: AdvancedMathBench (arXiv 2607.11849).
"""

from proverbench.metrics.metric import Metric, Need, Rate, harmonic_mean, mean

LABELS: frozenset[Need] = frozenset({"labels"})
PLACES: frozenset[Need] = frozenset({"labels", "places"})
META: frozenset[Need] = frozenset({"labels", "meta"})

ACCURACY = Rate("rough_accuracy", lambda a: a.right_polarity, lambda a: a.asked)
TPR = Rate("rough_tpr", lambda a: a.right_polarity * a.correct, lambda a: a.asked * a.correct)
TNR = Rate("rough_tnr", lambda a: a.right_polarity * a.incorrect, lambda a: a.asked * a.incorrect)
FIRST_ERROR = Rate("first_error_step_accuracy", lambda a: a.right_step, lambda a: a.asked * a.located * a.places)
FIRST_ERROR_INCORRECT = Rate(
    "first_error_step_accuracy_incorrect",
    lambda a: a.right_step * a.incorrect,
    lambda a: a.asked * a.incorrect * a.located * a.places,
)
VALID = Rate("verifier_valid_rate", lambda a: a.valid, lambda a: a.asked)
META_TPR = Rate("meta_ver_tpr", lambda a: a.meta_credit * a.correct, lambda a: a.asked * a.correct)
META_TNR = Rate("meta_ver_tnr", lambda a: a.meta_credit * a.incorrect, lambda a: a.asked * a.incorrect)
META_VALID = Rate("meta_valid_rate", lambda a: a.graded, lambda a: a.asked)

QUARTERS = frozenset({META_TPR.name, META_TNR.name})
"""Rates whose credits are quarters of a judgment."""

METRICS: tuple[Metric, ...] = (
    Metric(
        name="rough_accuracy",
        benchmark="verifier",
        label="Accuracy",
        heading="Accuracy",
        help="Share of judgments that agree with people on right or wrong.",
        rates=(ACCURACY,),
        needs=LABELS,
    ),
    Metric(
        name="rough_tpr",
        benchmark="verifier",
        label="TPR: right proofs accepted",
        heading="TPR",
        help="Of the proofs in which people found no error: share of judgments that accept.",
        rates=(TPR,),
        needs=LABELS,
        headline=2,
        in_papers=True,
    ),
    Metric(
        name="rough_tnr",
        benchmark="verifier",
        label="TNR: wrong proofs rejected",
        heading="TNR",
        help="Of the proofs in which people found an error: share of judgments that reject.",
        rates=(TNR,),
        needs=LABELS,
        headline=3,
        in_papers=True,
    ),
    Metric(
        name="rough_bal_f1",
        benchmark="verifier",
        label="Balanced F1",
        heading="Bal. F1",
        help="Harmonic mean of TPR and TNR.",
        rates=(TPR, TNR),
        g=harmonic_mean,
        needs=LABELS,
        headline=1,
        in_papers=True,
    ),
    Metric(
        name="balanced_accuracy",
        benchmark="verifier",
        label="Balanced accuracy",
        heading="Bal. acc.",
        help="Mean of TPR and TNR.",
        rates=(TPR, TNR),
        g=mean,
        needs=LABELS,
    ),
    Metric(
        name="first_error_step_accuracy",
        benchmark="verifier",
        label="First error found",
        heading="First error",
        help="Share of judgments that name the same first wrong step as people (or agree that there is none).",
        rates=(FIRST_ERROR,),
        needs=PLACES,
        headline=4,
        in_papers=True,
    ),
    Metric(
        name="first_error_step_accuracy_incorrect",
        benchmark="verifier",
        label="First error found, wrong proofs",
        heading="First error (incorrect)",
        help="The same, over proofs in which people found an error.",
        rates=(FIRST_ERROR_INCORRECT,),
        needs=PLACES,
    ),
    Metric(
        name="verifier_valid_rate",
        benchmark="verifier",
        label="Valid judgments",
        heading="Valid",
        help="Share of requested judgments that could be read by the protocol.",
        rates=(VALID,),
        validity=True,
        in_papers=True,
    ),
    Metric(
        name="meta_ver_tpr",
        benchmark="verifier",
        label="Meta TPR",
        heading="Meta TPR",
        help="As TPR, weighted by how well the explanation matches the human one.",
        rates=(META_TPR,),
        needs=META,
    ),
    Metric(
        name="meta_ver_tnr",
        benchmark="verifier",
        label="Meta TNR",
        heading="Meta TNR",
        help="As TNR, weighted by how well the explanation matches the human one.",
        rates=(META_TNR,),
        needs=META,
    ),
    Metric(
        name="meta_ver_bal_f1",
        benchmark="verifier",
        label="Meta balanced F1",
        heading="Meta bal. F1",
        help="Harmonic mean of meta TPR and meta TNR.",
        rates=(META_TPR, META_TNR),
        g=harmonic_mean,
        needs=META,
        headline=5,
    ),
    Metric(
        name="meta_valid_rate",
        benchmark="verifier",
        label="Valid meta levels",
        heading="Meta valid",
        help="Share of requested levels that could be read.",
        rates=(META_VALID,),
        needs=META,
        validity=True,
    ),
)
"""In the order of summary.json; the counts of proofs come before them. Those that need a meta-verifier come last."""
