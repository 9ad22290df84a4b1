"""Planted respondents: what they know and what they say is a parameter, so that what is measured can be checked.

A fact is known or not, once for all prompts. A known fact is answered rightly, another one guessed. The claim of
the recall wording is drawn once for a fact; the predictive wording keeps a share of these claims, and a stated
date drops a share of those that are left. A position-biased answer is the first option, whatever the fact. Where
the likelihood of texts is asked, the text of the option that it takes is the likeliest. All chance comes from
SHAKE-256 over (seed, what is drawn).

Source: the suite's specification, "Checks without published data".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from anachron.suites.findendro.chance import uniforms
from anachron.suites.findendro.layout import LETTERS, Option, in_order, layout
from anachron.suites.findendro.planted_parameters import Parameters, at
from anachron.suites.findendro.protocol import Protocol
from anachron.suites.findendro.protocol_parts import OUTCOMES, TEXTS

__all__ = ["Parameters", "respond", "truth"]

Memory = Mapping[str, tuple[str, int, int, int]]
"""Per item: family, candidates, place of the truth, place of the persistence candidate (−1 for none)."""

REFUSAL = "I'm sorry, but I cannot help with questions about market data."
FAVOURED, OTHERS = -0.01, -1.0
"""Log-probability of a byte of the option that is meant, and of another one: apart enough for any two lengths."""
NO_LETTER = "The figure is hard to recall with any certainty."


def respond(
    request: Mapping[str, Any], parameters: Parameters | Mapping[str, Any], protocol: Protocol, memory: Memory
) -> Any:
    """Answer one request as a provider's model would: text, a finish reason and nominal token counts.

    Parameters
    ----------
    request
        Neutral request; arm and item are looked at, the wording is not.
    parameters
        The respondent, or its mapping from the registry.
    protocol
        The protocol the request was made from.
    memory
        What `items.memory` gives.

    Returns
    -------
    anachron.llm.providers.Reply
        Tokens are nominal: one for every four characters.
    """
    from anachron.llm.providers.planted import nominal

    who = parameters if isinstance(parameters, Parameters) else Parameters.model_validate(dict(parameters))
    arm, item = str(request["arm"]), str(request["item"])
    if arm == "cutoff":
        said, finish = who.self_report or "unknown", "stop"
    elif arm in TEXTS:
        prompt = str(request["prompt"])
        most = meant(who, TEXTS[arm], item, memory[item], in_order(arm, memory[item][1]))
        odds = likely(prompt, protocol.task.candidate, favoured=int(request.get("rep") or 0) == most)
        return nominal(request, prompt, "stop")._replace(logprobs=odds)
    else:
        said, finish = _answer(who, protocol, arm, item, memory[item])
    return nominal(request, said, finish)


def _answer(
    who: Parameters, protocol: Protocol, arm: str, item: str, fact: tuple[str, int, int, int]
) -> tuple[str, str]:
    options = layout(protocol.seed, item, arm, fact[1])
    form, _ = uniforms(2, who.seed, "form", arm, item)
    place = meant(who, arm, item, fact, options)
    return written(who, LETTERS[place], LETTERS[len(options)] if len(options) < len(LETTERS) else "Z", form)


def meant(
    who: Parameters, arm: str, item: str, fact: tuple[str, int, int, int], options: Sequence[Option]
) -> int:
    """Return the place of the option that the respondent takes in a prompt."""
    _, biased = uniforms(2, who.seed, "form", arm, item)
    if biased < who.position_bias:
        return 0
    return options.index((chosen(who, arm, item, fact), claimed(who, arm, item)))


def likely(text: str, cue: str, *, favoured: bool) -> str:
    """Return a scored text's log-probabilities in two tokens: the option that is meant is likelier, byte by byte."""
    question, _, option = text.rpartition(cue)
    odds = (FAVOURED if favoured else OTHERS) * len(option.encode())
    steps = [(question + cue, -1.0), (option, odds)]
    return json.dumps([{"token": token, "logprob": odd, "top": []} for token, odd in steps])


def known(who: Parameters, item: str) -> bool:
    """Whether the respondent knows a fact."""
    return uniforms(1, who.seed, "known", item)[0] < at(who.knowledge, item[:7])


def chosen(who: Parameters, arm: str, item: str, fact: tuple[str, int, int, int]) -> int:
    """Return the place of the candidate that the respondent means."""
    family, count, truth, near = fact
    guess, forgets = uniforms(2, who.seed, "guess", arm, item)
    if known(who, item) and not (arm == "dated" and forgets < who.date_forgets):
        return truth
    way = who.policy_guess if family == "policy" else who.numeric_guess
    if way == "unchanged":
        return OUTCOMES.index("unchanged")
    return near if way == "persistence" and near >= 0 else int(guess * count)


def claimed(who: Parameters, arm: str, item: str) -> bool | None:
    """Return whether the respondent claims to know a fact in a prompt; None in the prompt without claims."""
    if arm == "value":
        return None
    claim, kept, dropped = uniforms(3, who.seed, "claim", item)
    says = claim < at(who.claims_known if known(who, item) else who.claims_unknown, item[:7])
    if arm != "recall":
        says = says and kept < who.predict_claims
    return says and not (arm == "dated" and dropped < who.date_obedience)


def written(who: Parameters, letter: str, stranger: str, draw: float) -> tuple[str, str]:
    """Return the text of an answer and its finish reason; `draw` in [0, 1) decides its form."""
    form = who.form
    forms = (
        (form.refusal, REFUSAL, "stop"),
        (form.not_offered, stranger, "stop"),
        (form.no_letter, NO_LETTER, "stop"),
        (form.truncated, "Let me go through what I recall of that month, and of the", "length"),
        (form.empty, "", "stop"),
        (form.prose, f"The answer is **{letter}**.", "stop"),
        (form.long, f"A figure of that month.\nSeveral options come close.\n\nAnswer: {letter}", "stop"),
    )
    for share, text, finish in forms:
        if draw < share:
            return text, finish
        draw -= share
    return letter, "stop"


def truth(
    parameters: Parameters | Mapping[str, Any], protocol: Protocol, memory: Memory, **options: Any
) -> dict[str, float | str]:
    """Return what the estimators should find; see `planted_truth.truth`."""
    from anachron.suites.findendro.planted_truth import truth as expected

    who = parameters if isinstance(parameters, Parameters) else Parameters.model_validate(dict(parameters))
    return expected(who, protocol, memory, **options)
