"""The command that puts answers before a judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def judge(
    suite: Annotated[str, typer.Option("--suite", help="Suite, for instance numleak.")],
    protocol: Annotated[Path, typer.Option("--protocol", help="The suite's protocol file.")],
    registry: Annotated[Path, typer.Option("--registry", help="The model registry.")],
    model: Annotated[str, typer.Option("--model", help="The judged model, as the registry names it.")],
    by: Annotated[str, typer.Option("--by", help="The judge, as the registry names it.")],
    transcripts: Annotated[Path, typer.Option("--transcripts", help="A sealed block of the judged model.")],
    store: Annotated[Path, typer.Option("--store", help="Folder of the paid answers.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write; replaced atomically.")],
) -> None:
    """Let one model grade another's answers, and seal the block with the grades."""
    from anachron import stages_judge

    stages_judge.judge(suite, protocol, registry, model, by, transcripts, store, output)


def add_to(app: typer.Typer) -> None:
    """Add this command to the command line."""
    app.command("judge")(judge)
