"""The figure of what each row cost: dollars and calls, side by side, with what is not known said in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anachron.publish import figures as house
from anachron.publish.row_blocks import ordered

Row = dict[str, Any]

NAME = "cost_per_row"


def draw(rows: list[Row], out: Path) -> house.Written:
    """Write the figure of dollars and calls of every row, in the order of the tables; call it inside `figures.style`.

    Dollars are those of the row's ledger: the answers it rests on, at the newest price of the model's key.
    """
    rows = ordered(rows)
    figure = house.new(1.0 + 0.3 * len(rows))
    dollars, calls = figure.subplots(1, 2, sharey=True)
    places = [len(rows) - 1 - place for place in range(len(rows))]
    most = max((row["ledger"]["dollars"] or 0.0 for row in rows), default=0.0)
    said = []
    for place, row in zip(places, rows, strict=True):
        ledger = row["ledger"]
        colour = house.GREEN if row["identity"]["provider"] == "planted" else house.BLUE
        amount = ledger["dollars"]
        if amount is None:
            text = "unknown"
        else:
            dollars.barh(place, amount, height=0.55, color=colour)
            text = f"${amount:,.2f}"
        dollars.annotate(text, (amount or 0.0, place), xytext=(3, 0), textcoords="offset points", va="center",
                         fontsize=7, color=house.INK if amount is not None else house.GREY)  # fmt: skip
        calls.barh(place, ledger["calls"], height=0.55, color=colour)
        calls.annotate(f"{ledger['calls']:,}", (ledger["calls"], place), xytext=(3, 0), textcoords="offset points",
                       va="center", fontsize=7)  # fmt: skip
        said.append(
            f"{row['model']}: {text if amount is not None else 'cost unknown'}, {ledger['calls']:,} calls."
        )
    dollars.set_yticks(places, [house.label(row) for row in rows])
    dollars.set_ylim(-0.6, len(rows) - 0.4)
    dollars.set_xlim(0, most * 1.35 or 1.0)
    calls.set_xlim(0, max((row["ledger"]["calls"] for row in rows), default=1) * 1.35 or 1.0)
    dollars.set_xlabel("US dollars")
    calls.set_xlabel("calls")
    for axes in (dollars, calls):
        axes.tick_params(axis="y", length=0)
        axes.locator_params(axis="x", nbins=4)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
    known = [row for row in rows if row["ledger"]["dollars"] is not None]
    prices = sorted({row["ledger"]["price"]["valid_from"] for row in rows if row["ledger"].get("price")})
    dated = f", prices from {' and '.join(prices)} on" if prices else ""
    caption = (
        f"What each row cost, n = {len(rows)} rows, {sum(row['ledger']['calls'] for row in rows):,} calls. Dollars are "
        f"known of {len(known)} rows: the tokens of the answers a row rests on times the price of its model{dated}; "
        "calls that brought no answer are not in it. Green: planted respondents, which cost nothing."
    )
    return house.save(figure, out, None, NAME, "Bars. " + " ".join(said), caption)
