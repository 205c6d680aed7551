"""``make assets``: fetch the page's libraries anew with npm, unmodified, and write down what they are.

For developers only: the files are part of the package, so users need no npm. A changed version is a changed line in
``PACKAGES``; the hashes in ``assets.json`` are what every page and test checks against.
"""

import base64
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROJECT = HERE.parents[2]


@dataclass(frozen=True, slots=True)
class Package:
    """An npm package and the files of it that are kept."""

    name: str
    version: str
    licence: str
    """SPDX name; the licence's text is kept beside the files."""
    files: dict[str, str]
    """Path in the package, or a folder of it ending in ``/*.SUFFIX``, to path in the folder."""
    folder: Path = HERE / "assets"


PACKAGES = (
    Package(
        "katex",
        "0.19.1",
        "MIT",
        {
            "dist/katex.min.js": "katex.min.js",
            "dist/katex.min.css": "katex.min.css",
            "dist/fonts/*.woff2": "fonts/",
            "LICENSE": "LICENSE.katex",
        },
    ),
    Package(
        "markdown-it",
        "14.3.3",
        "MIT",
        {"LICENSE": "LICENSE.markdown-it"},  # its code is bundled: script/build.mjs
    ),
    Package("d3", "7.9.2", "ISC", {"dist/d3.min.js": "d3.min.js", "LICENSE": "LICENSE.d3"}),
    Package(
        "@observablehq/plot",
        "0.6.17",
        "ISC",
        {"dist/plot.umd.min.js": "plot.umd.min.js", "LICENSE": "LICENSE.plot"},
    ),
    Package(
        "axe-core",
        "4.14.1",
        "MPL-2.0",
        {"axe.min.js": "axe.min.js", "LICENSE": "LICENSE.axe-core"},
        folder=PROJECT / "tests" / "show" / "report" / "assets",
    ),
)


def main() -> None:
    """Fetch every package, and write ``assets.json`` into each folder."""
    listings: dict[Path, list[dict[str, Any]]] = {}
    for package in PACKAGES:
        with tempfile.TemporaryDirectory() as scratch:
            archive, integrity = _fetch(package, Path(scratch))
            files = _unpack(package, archive)
        listings.setdefault(package.folder, []).append(
            {
                "package": package.name,
                "version": package.version,
                "licence": package.licence,
                "integrity": integrity,
                "files": files,
            }
        )
    for folder, packages in listings.items():
        (folder / "assets.json").write_text(json.dumps(packages, indent=2) + "\n", encoding="utf-8")
        sys.stdout.write(f"{folder}: {', '.join(p['package'] + ' ' + p['version'] for p in packages)}\n")


def _fetch(package: Package, scratch: Path) -> tuple[Path, str]:
    found = subprocess.run(
        ["npm", "pack", f"{package.name}@{package.version}", "--json"],
        cwd=scratch,
        check=True,
        capture_output=True,
        text=True,
    )
    told = json.loads(found.stdout)[0]
    archive = next(scratch.glob("*.tgz"))
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if told["integrity"] != f"sha512-{digest}":
        raise SystemExit(f"{package.name}: the archive's hash is not the one that npm told")
    return archive, told["integrity"]


def _unpack(package: Package, archive: Path) -> dict[str, str]:
    """Copy the files; returns the SHA-256 of each."""
    hashes = {}
    with tarfile.open(archive) as tar:
        for wanted, target in package.files.items():
            start, star, end = wanted.partition("*")
            for member in sorted(tar.getnames()):
                path = member.removeprefix("package/")
                if not (path == wanted or (star and path.startswith(start) and path.endswith(end))):
                    continue
                content = tar.extractfile(member)
                if content is None:
                    continue
                name = target + Path(path).name if target.endswith("/") else target
                data = content.read()
                (package.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (package.folder / name).write_bytes(data)
                hashes[name] = hashlib.sha256(data).hexdigest()
    return hashes


if __name__ == "__main__":
    main()
