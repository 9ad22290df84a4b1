"""However long and odd an answer is, each reader is done with it in no time: at most two
seconds for a hundred thousand characters.

A reader of linear time needs a tenth of that, one of quadratic time twice as much, one of cubic time hours. The clock
is the processor's own, so other work on the machine does not count.
"""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from anachron.suites.findendro import letters
from anachron.suites.hindsightbench import probes, sketches
from anachron.suites.leakage import probability
from anachron.suites.numleak import judging, numerals, verdicts

LENGTH = 100_000
PAIR = ("2008-10", "2009-03")
READERS: dict[str, Callable[[str], Any]] = {
    "published number": numerals.published,
    "final number": numerals.final,
    "verdict": lambda text: verdicts.verdict(text, PAIR, "endorsed"),
    "first sentence": verdicts.opens_with_refusal,
    "judge's score": judging.score,
    "probability": probability.read,
    "option": lambda text: letters.read(text, 8),
    "opening": lambda text: letters.opening(text, 8),
    "stated cutoff": letters.month,
    "recall": probes.read_recall,
    "dated": probes.read_month,
    "sketches": sketches.read_sketches,
}
PIECES = (
    *("9", "1 ", "111 ", "1,111", "1.", "0.5 ", "5% ", "1-", "1/", "1:1 ", "- 1 ", "1 in 4 ", "one in "),
    *("score 3 of ", " ", "\t", "\n1", "a", "A ", "A) ", "*", "**A** ", "(", "[", "{", '{"a":[', '"', "\\", "```"),
    *("boxed{", ", ", "}, {"),
    *("answer ", "answer: ", "answer is ", "estimate is ", "probability ", "probability is ", "probability 0.3. "),
    *("p ",),
    *("between ", "between 1", "at least 5 ", "less than ", "0 - 1 ", "no ", "minus ", "i cannot ", "unable to ", "I "),
    *("up ", "2008 ", "2008-10 ", "October 2008 ", "oct ", "October 2008 (", "October 2008 is a "),
    *("\u00a0", "\uff11", "\uff0c"),
)  # fmt: skip
LEADS = ("", "", "answer", "i", "probability ", "between 1", "October 2008 ", "* (")


@contextmanager
def at_most(seconds: float, what: str) -> Iterator[None]:
    def late(*_: Any) -> None:
        raise AssertionError(f"still reading after {seconds} s: {what}")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def test_a_reader_that_does_not_end_is_stopped() -> None:
    with pytest.raises(AssertionError, match="still reading"), at_most(0.1, "nothing"):
        while True:
            pass


@pytest.mark.parametrize("reader", READERS)
def test_a_long_answer_is_read_at_once(reader: str) -> None:
    read = READERS[reader]
    for piece, lead in zip(PIECES, itertools.cycle(LEADS)):
        body = lead + (piece * (LENGTH // len(piece) + 1))[:LENGTH]
        for end in ("x", "\n%"):
            with at_most(2, f"{lead!r}, then {piece!r} again and again, then {end!r}"):
                read(body + end)
