"""Starts a module of this package where no installed one is to be trusted: ``python -I -S launch.py SPEC MODULE ARG…``.

SPEC is a JSON list: the package's folder, then the folders with the packages that it needs. Neither the current folder
nor the environment has a say in what is imported.
"""

import importlib.util
import json
import runpy
import sys


def main() -> None:
    """Import the package from its folder, then run the module."""
    package, *installed = json.loads(sys.argv[1])
    module = sys.argv[2]
    sys.argv = [module, *sys.argv[3:]]
    sys.path += installed
    spec = importlib.util.spec_from_file_location(
        "proverbench", f"{package}/__init__.py", submodule_search_locations=[package]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules["proverbench"] = loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
