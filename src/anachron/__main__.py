"""Run the command line as ``python -m anachron``."""

from anachron.cli import main

if __name__ == "__main__":
    main()
