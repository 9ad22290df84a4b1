"""Run the command line as ``python -m anachron``."""

import sys

from anachron.cli import main

if __name__ == "__main__":
    # Where hypothesis is installed (for the tests), pandera loads it at a job's first contract, for generating
    # data that no job generates: a quarter of a second. None makes that import fail, which pandera allows for.
    sys.modules.setdefault("hypothesis", None)  # type: ignore[arg-type]
    main()
