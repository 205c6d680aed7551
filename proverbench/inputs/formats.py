"""Data sets that `data import` knows by name. A new one is a value here, and nothing else names it."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from proverbench.errors import ConfigError
from proverbench.inputs import descriptions, importers
from proverbench.inputs.imported import Imported
from proverbench.inputs.mapped import apply_mapping
from proverbench.inputs.mapping import mapping_of
from proverbench.inputs.splitting import Split
from proverbench.inputs.tables import table_files

Reader = Callable[[Path, Split | None], Imported]


@dataclass(frozen=True)
class Format:
    """A data set, and how its files are read."""

    name: str
    what: str
    """What its files are, for people."""
    read: Reader
    released: tuple[int, ...] = ()
    """Rows of the released files, together or alone; empty where that is not known."""
    sha256: str | None = None
    """Of the released file, where it is one and its content is known."""

    def load(self, source: Path, split: Split | None = None) -> Imported:
        """Read its files, and say whether they are what was released.

        Raises:
            DataError: Lists every row that is not as documented.
        """
        imported = self.read(source, split)
        n = len(imported.rows) + imported.left_out.total()
        if self.released and n not in self.released:
            known = " or ".join(f"{count:,}" for count in self.released)
            imported.notes.append(f"The source has {n:,} rows; as released it has {known}.")
        if self.sha256 is not None:
            found = {hashlib.sha256(file.read_bytes()).hexdigest() for file in table_files(source)}
            same = "is" if self.sha256 in found else "is not"
            imported.notes.append(f"The file {same} the released one, byte for byte (SHA-256 {self.sha256[:12]}…).")
        return imported


def _described(description: str) -> Reader:
    def read(source: Path, split: Split | None) -> Imported:
        return apply_mapping(mapping_of(description, "description"), source, split=split)

    return read


FORMATS: tuple[Format, ...] = (
    Format(
        "imo-proofbench",
        "IMO-ProofBench's proofbench_v2.csv: problems with marking schemes",
        _described(descriptions.IMO_PROOFBENCH),
        released=(60,),
        sha256="aa8b813dbd4068137e3d165e5da228f6e0e1cc85a91c37883e1791b954e43af0",
    ),
    Format(
        "gradingbench",
        "IMO-GradingBench's gradingbench.csv: proofs graded 0 to 7",
        _described(descriptions.GRADINGBENCH),
        released=(1000,),
    ),
    Format(
        "proofbench",
        "wenjiema02/ProofBench, a split's file or the folder: proofs graded 0 to 7",
        _described(descriptions.PROOFBENCH),
        released=(435, 464, 899),
    ),
    Format(
        "matharena",
        "MathArena's *_outputs: proofs graded by one or two people",
        _described(descriptions.MATHARENA),
    ),
    Format(
        "deepseek",
        "DeepSeek-Math-V2's outputs with human_rating: proofs graded 0 to 7",
        _described(descriptions.DEEPSEEK),
        released=(30, 60),
    ),
    Format(
        "opc",
        "the Open Proof Corpus: proofs with one or more people's verdicts",
        importers.import_opc,
        released=(5062,),
    ),
    Format(
        "processbench",
        "ProcessBench, a subset's file or the folder: first wrong paragraphs",
        importers.import_processbench,
        released=(400, 1000, 3400),
    ),
    Format(
        "hard2verify",
        "Hard2Verify, decrypted with its own tool: a label a step",
        importers.import_hard2verify,
        released=(200,),
    ),
    Format("prm800k", "PRM800K's JSONL: a rating a step", importers.import_prm800k),
    Format(
        "arxivmath",
        "ArxivMathGradingBench's table in a folder with the papers' texts, named by arxiv_id",
        importers.import_arxivmath,
        released=(35,),
    ),
)


def find_format(name: str) -> Format:
    """The data set of that name.

    Raises:
        ConfigError: If none is known; names the nearest.
    """
    names = [known.name for known in FORMATS]
    if name in names:
        return FORMATS[names.index(name)]
    near = "".join(f"did you mean {match!r}? " for match in get_close_matches(name, names, 1))
    raise ConfigError(
        f"--format {name}: no data set is known by that name; {near}known are {', '.join(names)}, inspect, labels, "
        "published, and FILE.toml, a description of your own files (docs/own-data.md)"
    )
