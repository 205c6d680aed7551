"""The file of a study: short for what it asks, and the shipped one explains itself."""

from pathlib import Path

from proverbench.inputs.study import load_study
from tests.support import ROOT

FOUR_BY_TWO = """\
[study]
data = "data/proverbench.jsonl"
samples = 4
calibration = "data/verifierbench.jsonl"
[endpoint.a]
base_url = "https://models.example/v1"
[policy.one]
endpoint = "a"
model = "one"
generation = { max_tokens = 32000 }
[policy.two]
endpoint = "a"
model = "two"
generation = { max_tokens = 32000 }
[policy.three]
endpoint = "a"
model = "three"
generation = { max_tokens = 32000 }
[policy.older]
run = "runs/older"
[judge.strict]
endpoint = "a"
model = "strict"
generation = { max_tokens = 16000 }
[judge.mild]
endpoint = "a"
model = "mild"
generation = { max_tokens = 16000 }
"""


def test_four_policies_and_two_judges_with_calibrations_are_a_file_of_at_most_forty_lines(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(FOUR_BY_TWO, encoding="utf-8")
    study = load_study(file)
    assert (len(study.policies), len(study.judges), study.settings.calibration is not None) == (4, 2, True)
    assert len(FOUR_BY_TWO.splitlines()) <= 40


def test_the_shipped_one_names_every_setting():
    text = Path(ROOT / "configs/study.toml").read_text(encoding="utf-8")
    settings = type(load_study(ROOT / "configs/study.toml").settings).model_fields
    missing = {name for name in settings if name not in text}
    assert not missing
