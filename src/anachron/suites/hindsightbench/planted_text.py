"""What planted respondents write: sketches as JSON, one word for recall, a month for date recovery.

The texts are plain and few; an answer's form (fence, trailing comma, missing bracket, cut, refusal) is drawn
once per answer, a sketch's direction and validity once per sketch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from anachron.blocks import from_ordinal, ordinal
from anachron.suites.hindsightbench.planted import (
    FORM_KINDS,
    Parameters,
    bearish_share,
    claim_probability,
    departure,
    uniforms,
)
from anachron.suites.hindsightbench.protocol import Protocol

REFUSAL = "I am not able to give views on markets for this request."
NO_DIRECTION = "Markets move for many reasons."
NO_DATE = '{"estimated_date": null}'

_MECHANISMS = {
    "+": (
        "{label} has firmed against its recent path, and {domain} conditions carry that into the target",
        "A softer reading of {label} lowers the bar for {domain} conditions to surprise on the good side",
        "Positioning has not caught up with {label}, so {domain} news still has room to be priced",
        "{label} leaves slack in {domain} conditions, which lets the target recover",
    ),
    "-": (
        "{label} has weakened against its recent path, and {domain} conditions carry that into the target",
        "A firm reading of {label} raises the bar for {domain} conditions, which then disappoint",
        "Positioning leans on {label}, so {domain} news that falls short is priced in a hurry",
        "{label} leaves no slack in {domain} conditions, which holds the target back",
    ),
}
_REGIMES = {"+": ("expansion", "recovery"), "-": ("slowdown", "late cycle")}


def arm_answer(
    parameters: Parameters, protocol: Protocol, request: Mapping[str, Any], realised: int
) -> tuple[str, str]:
    """Return the text and the finish reason of an answer in one of the arms R, D, M, W, W72."""
    arm, item, rep, stated = request["arm"], str(request["item"]), request["rep"], request.get("shown_date")
    stated = str(stated)[:10] if isinstance(stated, str) else None
    form, count = parameters.form, protocol.sketches
    share = bearish_share(
        parameters, protocol, arm, item, stated, claim_probability(parameters, item[:7]), realised
    )
    share += departure(parameters.bearish.context_spread, parameters.seed, "context", item[:7])
    if stated is not None:
        share += departure(parameters.bearish.date_spread, parameters.seed, "stated", stated[:7])
    draws = uniforms(6 + 3 * count, parameters.seed, "arm", arm, item, rep)
    kind = _kind(parameters, draws[0])
    if kind == "refusal":
        return REFUSAL, "stop"
    if kind == "empty":
        return "", "stop"
    sketches = [
        _sketch(
            protocol,
            place,
            "-" if draws[6 + place] < share else "+",
            valid=draws[6 + count + place] < form.compliance,
            draw=draws[6 + 2 * count + place],
        )
        for place in range(count)
    ]
    asides = []
    if stated is not None and draws[1] < form.names_stated_year:
        asides.append(f"as in {stated[:4]}")
    if draws[2] < form.names_true_year:
        asides.append(f"as in {item[:4]}")
    if stated is not None and draws[3] < form.names_event:
        asides += _event(protocol, stated)
    for aside in asides:
        sketches[0]["mechanism_narrative"] += f", {aside}"
    if kind == "truncated":
        return _cut(sketches, draws[4], draws[5]), "length"
    body = "[" + ",\n".join(json.dumps(sketch, ensure_ascii=False) for sketch in sketches) + "\n]"
    if kind == "fenced":
        return f"```json\n{body}\n```", "stop"
    if kind == "trailing_comma":
        return body[:-2] + ",\n]", "stop"
    return (body[:-1], "stop") if kind == "unterminated" else (body, "stop")


def _kind(parameters: Parameters, draw: float) -> str:
    """Return the form of an answer; whatever the drawn number leaves over is plain."""
    edge = 0.0
    for kind in FORM_KINDS:
        edge += getattr(parameters.form, kind)
        if draw < edge:
            return kind
    return "plain"


def _cut(sketches: list[dict[str, Any]], which: float, where: float) -> str:
    """Return an answer that ends inside one of its sketches, each as likely as another."""
    whole = int(which * len(sketches))
    last = json.dumps(sketches[whole], ensure_ascii=False)
    before = "".join(json.dumps(sketch, ensure_ascii=False) + ",\n" for sketch in sketches[:whole])
    return f"[{before}{last[: 1 + int(where * (len(last) - 2))]}"


def _sketch(protocol: Protocol, place: int, direction: str, valid: bool, draw: float) -> dict[str, Any]:
    """Return one sketch; an invalid one lacks its direction's sign."""
    series = protocol.series
    entry = series[int(draw * 997) % len(series)]
    domain = protocol.domains[place % len(protocol.domains)]
    wording = _MECHANISMS[direction]
    label = entry.label[0].upper() + entry.label[1:]
    return {
        "hypothesis_id": f"H{place + 1}",
        "dominant_domain": domain,
        "mechanism_narrative": wording[int(draw * len(wording))].format(label=label, domain=domain),
        "direction": direction if valid else "mixed",
        "candidate_proxies": [entry.id],
        "candidate_horizon_hint": protocol.horizons[place % len(protocol.horizons)],
        "candidate_trigger": f"the next release of {entry.id}",
        "candidate_interactions": [],
        "evidence_refs": [entry.id],
        "regime_hint": _REGIMES[direction][place % 2],
        "failure_condition": f"{entry.id} turns the other way at its next release",
    }


def _event(protocol: Protocol, stated: str) -> list[str]:
    """Return words for the event a stated crisis date belongs to; none where the protocol names none."""
    for name, members in protocol.sets.events.items():
        if stated[:7] in members and protocol.sets.event_words.get(name):
            return [f"as after {protocol.sets.event_words[name][0]}"]
    return []


def lap_answer(parameters: Parameters, item: str, rep: object, realised: int) -> str:
    """Return one answer of the outcome-recall probe: up, down, unknown, or words that name none."""
    recall, month = parameters.recall, item[:7]
    invalid, claims, right, guess = uniforms(4, parameters.seed, "LAP", item, rep)
    if invalid < parameters.form.lap_invalid:
        return NO_DIRECTION
    if claims >= claim_probability(parameters, month):
        return "unknown"
    known = (
        realised and recall.familiar(month) and uniforms(1, parameters.seed, "knows", month)[0] < recall.knows
    )
    up = (realised > 0) == (right < recall.accuracy) if known else guess < recall.guess_up
    return "up" if up else "down"


def rec_answer(parameters: Parameters, item: str, rep: object) -> str:
    """Return the answer of the date-recovery probe."""
    part, month = parameters.recovery, item[:7]
    form, hit, which, year_step = uniforms(4, parameters.seed, "REC", item, rep)
    if form < part.silent:
        return NO_DATE
    familiar = parameters.recall.familiar(month)
    exact, year = (part.month, part.year) if familiar else (part.month_after, part.year_after)
    year_first = ordinal(month) - ordinal(month) % 12
    inside = ordinal(month) - year_first
    if hit < exact:
        said = ordinal(month)
    elif hit < year:
        said = year_first + (inside + 1 + int(which * 11)) % 12
    else:
        step = int(year_step * 2 * part.spread_years)
        step = step + 1 if step < part.spread_years else part.spread_years - 1 - step
        said = year_first + 12 * step + int(which * 12)
    text = from_ordinal(said)
    if form < part.silent + part.year_only:
        text = text[:4]
    return f'{{"estimated_date": "{text}"}}'
