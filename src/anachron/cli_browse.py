"""The command that writes a model's transcripts as files for the page's browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def browse(
    suite: Annotated[str, typer.Option("--suite", help="Suite, for instance hindsightbench.")],
    model: Annotated[str, typer.Option("--model", help="Name of the model in the registry.")],
    answers: Annotated[Path, typer.Option("--answers", help="The model's parsed answers.")],
    transcripts: Annotated[list[Path], typer.Option("--transcripts", help="A sealed block; repeat.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder; replaced as a whole.")],
    requests: Annotated[
        Path | None,
        typer.Option(
            "--requests", help="Folder of the request tables, ARM/BLOCK.parquet as the transcripts."
        ),
    ] = None,
) -> None:
    """Write one model's transcripts of a suite beside the page, for its browser."""
    from anachron import frames, stages, suites
    from anachron.publish import browse as pieces

    sealed = stages.read_transcripts(transcripts, model)
    parsed = frames.read(answers, suites.module(suite, "parse").Contract)
    stages.refuse_other_answers(parsed, sealed, answers)
    tables = [requests / path.parent.name / path.name for path in transcripts] if requests else []
    pieces.write(sealed, parsed, pieces.prompts_of(tables), output)


def add_to(app: typer.Typer) -> None:
    """Add this command to the command line."""
    app.command()(browse)
