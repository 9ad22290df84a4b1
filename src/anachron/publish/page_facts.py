"""Facts of a model's own view: what its audit cost, what was asked and came back, how its row was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anachron import files
from anachron.publish import tables
from anachron.publish.page_html import legend, plain_table
from anachron.publish.text import EM_DASH
from anachron.publish.text import escaped as esc

Row = dict[str, Any]

TOKENS = {
    "input_tokens": "input tokens",
    "cached_tokens": "input tokens from a cache",
    "output_tokens": "output tokens",
    "reasoning_tokens": "output tokens of reasoning",
}


def money(dollars: float | None) -> str:
    """Return US dollars; small sums keep their digits, an unknown one is a dash.

    >>> money(1234.5), money(0.0123), money(0.0), money(None)
    ('$1,234.50', '$0.0123', '$0', '—')
    """
    if dollars is None:
        return EM_DASH
    if dollars == 0:
        return "$0"
    return f"${dollars:,.2f}" if dollars >= 1 else f"${dollars:.3g}"


def cost(row: Row) -> str:
    """Return what an audit cost, the price it is counted at, and what the ledger does not know."""
    ledger = row["ledger"]
    if ledger["dollars"] is None:
        said = "What the calls cost is not known."
    elif row["identity"]["provider"] == "planted":
        said = "Nothing: a planted respondent answers inside the program."
    else:
        said = f"{money(ledger['dollars'])} in all."
    price = ledger.get("price")
    if price:
        said += (
            f" Counted at the price {price['key']!r} valid from {price['valid_from']}: ${price['input']:g} per million "
            f"input tokens, ${price['output']:g} per million output tokens."
        )
    entries = {"calls": f"{ledger['calls']:,}"}
    entries |= {
        name: f"{ledger[key]:,}" if ledger[key] is not None else "not recorded"
        for key, name in TOKENS.items()
    }
    gaps = "".join(f"<li>{esc(gap)}</li>" for gap in ledger["gaps"])
    return f"<p>{esc(said)}</p>{legend(entries, 'facts')}" + (
        f"<p>What the ledger does not know:</p><ul>{gaps}</ul>" if gaps else ""
    )


def asked(row: Row, mine: Sequence[tables.Block], browsable: Sequence[str]) -> str:
    """Return requests and outcomes by arm, and the way to the transcripts where they lie beside the page."""
    parts = []
    slug = files.slug(row["model"])
    if browsable:
        where = f"#transcripts/{slug}/{browsable[0]}"
        parts.append(
            f'<p class="go"><a href="{esc(where)}">Read the transcripts</a>: every prompt with the raw answer and what '
            "was read from it.</p>"
        )
    else:
        parts.append('<p class="note">No transcripts of this model lie beside this page.</p>')
    for block in mine:
        lines, outcomes = arms_of(row["counts"][block.suite])
        if not lines:
            continue
        told = getattr(block.table, "ARMS", {})
        columns = ["Arm", "Asked", "Answered", *(name.replace("_", " ") for name in outcomes)]
        if any(line[0] in told for line in lines):
            columns.insert(1, "What it asks")
            lines = [[arm, told.get(arm, ""), *counted] for arm, *counted in lines]
        parts.append(f"<h4>{esc(block.title)}</h4>")
        parts.append(plain_table(columns, lines, f"{block.suite}: requests and outcomes by arm"))
    return "".join(parts)


def arms_of(counts: Mapping[str, Any]) -> tuple[list[list[Any]], list[str]]:
    """Return what a suite counted, a line per arm, and the outcomes that are its columns after the first three."""
    # Some suites count by arm, others by what is counted, then by arm.
    if isinstance(counts.get("asked"), Mapping):
        counts = {
            arm: {
                "asked": asked,
                "answered": (counts.get("answered") or {}).get(arm),
                "outcomes": (counts.get("readings") or {}).get(arm),
            }
            for arm, asked in counts["asked"].items()
        }
    arms = {
        arm: counted
        for arm, counted in counts.items()
        if isinstance(counted, Mapping) and isinstance(counted.get("asked"), int)
    }
    outcomes = sorted({name for counted in arms.values() for name in counted.get("outcomes") or {}})
    lines = [
        [
            arm,
            counted["asked"],
            counted.get("answered"),
            *((counted.get("outcomes") or {}).get(name, 0) for name in outcomes),
        ]
        for arm, counted in arms.items()
    ]
    return lines, outcomes


def made(row: Row) -> str:
    """Return how a model was asked, and the versions and hashes that its row was made by."""
    identity = row["identity"]
    entries = {
        "provider": f"{identity['provider']}, model {identity['model_id']}",
        "tier": identity["tier"],
        "thinking": identity["thinking"],
        "tools": identity["tools"],
        "served as": ", ".join(identity["served_models"]) or "not stated by the provider",
        "serving": _pairs(identity["serving"]) or "nothing stated",
        "reps": _pairs(identity["reps"]) or "not recorded",
        "sampling": _pairs(identity["sampling"]) or "as the protocols say",
    }
    parts = [legend(entries, "facts")]
    for suite, part in row["provenance"].items():
        parts.append(f"<h4>{esc(suite)}</h4>")
        parts.append(
            legend(
                {
                    "protocol": f"{part['protocol']['name']}, SHA-256 {part['protocol']['sha256']}",
                    "versions": _pairs(part["versions"]) + f"; package {part['package_version']}",
                    "code fingerprints": _pairs(part["fingerprints"]),
                    "panel": f"{', '.join(part['panel']['vintage_kinds']) or 'no vintages'}; "
                    f"SHA-256 {part['panel']['sha256']}",
                    "transcripts": f"{', '.join(part['provenances'])}; SHA-256 {part['transcripts_sha256']}",
                },
                "facts",
            )
        )
    return "".join(parts)


def _pairs(value: Mapping[str, Any]) -> str:
    def said(inner: Any) -> str:
        if isinstance(inner, Mapping):
            return _pairs(inner)
        return ", ".join(map(str, inner)) if isinstance(inner, list) else str(inner)

    return "; ".join(
        f"{key} ({said(inner)})" if isinstance(inner, Mapping | list) else f"{key} {said(inner)}"
        for key, inner in value.items()
        if inner not in ({}, [], None)
    )
