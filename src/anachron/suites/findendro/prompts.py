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
    task, texts = protocol.task, shown(protocol, arm, name, candidates)
    lines = question(protocol, arm, month, name)
    closing = task.closing.format(letters=", ".join(LETTERS[: len(options)]))
    refuse_leaks(" ".join((*lines, closing)), texts, f"arm {arm}, {protocol.item(month, name)}")
    listed = [
        task.option.format(letter=LETTERS[place], text=worded(protocol, arm, texts[candidate], claim))
        for place, (candidate, claim) in enumerate(options)
    ]
    return "\n".join((*lines, "", *listed, "", closing))


def continuations(
    protocol: Protocol, arm: str, month: str, name: str, candidates: Sequence[str], options: Sequence[Option]
) -> list[str]:
    """Return the texts whose likelihood is asked, one an option: the question, then that option as its answer.

    Parameters and errors are those of `prompt`, whose wording this is without the list of options.
    """
    texts = shown(protocol, arm, name, candidates)
    lines = question(protocol, arm, month, name)
    where = f"arm {arm}, {protocol.item(month, name)}"
    cue = protocol.task.candidate
    refuse_leaks(" ".join((*lines, cue)), texts, where)
    before = "\n".join((*lines, "", cue))
    answers = [worded(protocol, arm, texts[candidate], claim) for candidate, claim in options]
    for answer in answers:
        if cue.strip() in answer:
            raise ContractError(
                f"{where}: the option {answer!r} holds `task.candidate` ({cue.strip()!r}), which says where an option "
                "begins; change the wording in the protocol file"
            )
    return [before + answer for answer in answers]


def question(protocol: Protocol, arm: str, month: str, name: str) -> list[str]:
    """Return the lines of a prompt before its options."""
    task, family = protocol.task, protocol.families()[name]
    words = {"month": in_words(month), "id": name, **about(protocol, family, name)}
    lines = [task.own_knowledge]
    if arm == "dated":
        lines.append(task.as_of.format(date=date_in_words(shown_date(month))))
    lines += ["", of(getattr(task, BY_WORDING[arm]), family), of(task.subject, family).format(**words)]
    lines.append(task.period.format(**words))
    if family != "policy":
        lines.append(task.unit.format(**words))
    return lines


def worded(protocol: Protocol, arm: str, text: str, claim: bool | None) -> str:
    """Return a candidate as an option words it: with the claim that it makes, if it makes one."""
    if claim is None:
        return text
    claims = getattr(protocol.task.claims, BY_WORDING[arm])
    return str((claims.knows if claim else claims.denies).format(value=text))


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


def shown(protocol: Protocol, arm: str, name: str, candidates: Sequence[str]) -> list[str]:
    """Return candidates as options print them: policy outcomes in the tense of the wording."""
    if protocol.families()[name] != "policy":
        return list(candidates)
    tenses = protocol.task.outcomes
    return [
        str(getattr(tenses.future if arm in ("predict", "dated") else tenses.past, one)) for one in candidates
    ]


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
