"""`anachron --help` lists every command once, under a heading, with its whole first sentence."""

from __future__ import annotations

import re

from typer.main import get_command
from typer.testing import CliRunner

from anachron.cli import app
from anachron.cli_help import GROUPS


def test_every_command_stands_under_a_heading() -> None:
    named = [name for names in GROUPS.values() for name in names]
    assert sorted(named) == sorted(get_command(app).commands)  # type: ignore[attr-defined]
    said = CliRunner().invoke(app, ["--help"]).output
    groups = said.partition("Audit:")[2]
    listed = re.findall(r"^  ([a-z][a-z-]+) ", groups, re.MULTILINE)
    assert sorted(listed) == sorted(named)
    assert "Other:" not in groups
    assert "..." not in groups
