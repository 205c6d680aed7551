"""``python -m proverbench``."""

from proverbench.cli import main

if __name__ == "__main__":
    main(prog_name="proverbench")
