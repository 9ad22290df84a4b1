"""The list of commands, grouped by what a user wants to do."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

GROUPS: dict[str, tuple[str, ...]] = {
    "Audit": ("backtest", "replay", "import", "smoke", "cost", "status", "judge"),
    "Try offline": ("serve-planted", "serve-local"),
    "Publish and prove": ("publish", "browse", "freeze", "check", "verify", "prereg"),
    "Look into what is kept": ("store", "explain", "fetch", "snapshot", "schema"),
    "Steps of the pipeline, run by Snakemake": (
        *("panel", "ask", "collect", "parse", "estimate", "forecasts", "row"),
    ),
}
"""Headings and commands, in the order printed. A command that stands nowhere here is printed under `Other`."""


class Grouped(TyperGroup):
    """A group whose help lists its commands under headings."""

    # The types of both arguments are private to Typer, and differ between its versions.
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write every command once, with the whole first sentence of its help."""
        named = {name for names in GROUPS.values() for name in names}
        other = tuple(name for name in self.list_commands(ctx) if name not in named)
        for heading, names in (*GROUPS.items(), ("Other", other)):
            rows = [
                (name, command.get_short_help_str(limit=400))
                for name in names
                if (command := self.get_command(ctx, name)) is not None and not command.hidden
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
