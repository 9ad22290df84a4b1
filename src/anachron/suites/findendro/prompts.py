"""The text of a prompt: subject, question, options. All wording comes from the protocol file.

Source: FinDendro §3.2, appendix A.3; the suite's specification, "Options and prompts".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anachron.blocks import in_words, last_day
from anachron.errors import ContractError
from anachron.suites.findendro.layout import LETTERS, Option
from anachron.suites.findendro.protocol import Protocol, previous
from anachron.suites.findendro.protocol_parts import Family, Wording

BY_WORDING = {"value": "value", "recall": "recall", "predict": "predict", "dated": "predict"}
"""Which question and which claims a prompt takes."""


def prompt(
    protocol: Protocol, arm: str, month: str, name: str, candidates: Sequence[str], options: Sequence[Option]
) -> str:
    """Return the text of one prompt.

    Parameters
    ----------
    arm
        value, recall, predict or dated.
    month, name
        The fact.
    candidates
        As printed, ascending; outcome names for policy.
    options
        Candidate and claim of each option, in the order they stand (`layout.layout`).

    Raises
    ------
    ContractError
        When a candidate's text stands anywhere but among the options.
    """
    task, family = protocol.task, protocol.families()[name]
    wording = BY_WORDING[arm]
    words = {"month": in_words(month), "id": name, **about(protocol, family, name)}
    lines = [task.own_knowledge]
    if arm == "dated":
        lines.append(task.as_of.format(date=date_in_words(shown_date(month))))
    lines += ["", of(getattr(task, wording), family), of(task.subject, family).format(**words)]
    lines.append(task.period.format(**words))
    if family != "policy":
        lines.append(task.unit.format(**words))
    texts = [shown(protocol, arm, family, candidate) for candidate in candidates]
    closing = task.closing.format(letters=", ".join(LETTERS[: len(options)]))
    refuse_leaks(" ".join((*lines, closing)), texts, f"arm {arm}, {protocol.item(month, name)}")
    lines.append("")
    for place, (candidate, claim) in enumerate(options):
        text = texts[candidate]
        if claim is not None:
            claims = getattr(task.claims, wording)
            text = (claims.knows if claim else claims.denies).format(value=text)
        lines.append(task.option.format(letter=LETTERS[place], text=text))
    return "\n".join((*lines, "", closing))


def about(protocol: Protocol, family: Family, name: str) -> Mapping[str, object]:
    """Return what the wording says of a series, a share or the policy target."""
    if family == "policy":
        return {"label": protocol.policy.label}
    if family == "stock":
        company = next(one for one in protocol.companies if one.ticker == name)
        prices = protocol.prices
        return {"name": company.name, "ticker": name, "unit": prices.unit, "decimals": prices.decimals}
    entry = next(one for one in protocol.series if one.id == name)
    return {"label": entry.label, "unit": entry.unit, "decimals": entry.decimals}


def of(wording: Wording, family: Family) -> str:
    """Return a family's text."""
    return str(getattr(wording, family))


def shown(protocol: Protocol, arm: str, family: Family, candidate: str) -> str:
    """Return a candidate as an option prints it: policy outcomes in the tense of the wording."""
    if family != "policy":
        return candidate
    tenses = protocol.task.outcomes
    return str(getattr(tenses.future if arm in ("predict", "dated") else tenses.past, candidate))


def shown_date(month: str) -> str:
    """Return the day that a dated prompt calls today: the last of the month before."""
    return last_day(previous(month))


def date_in_words(date: str) -> str:
    """Return a date in words.

    >>> date_in_words("2020-12-31")
    '31 December 2020'
    """
    return f"{int(date[8:10])} {in_words(date)}"


def refuse_leaks(around: str, texts: Sequence[str], where: str) -> None:
    """Raise `ContractError` when the text around the options holds a candidate."""
    for text in texts:
        if text in around:
            raise ContractError(
                f"{where}: the prompt holds the candidate {text!r} outside its options; change the wording in "
                "the protocol file"
            )
