"""How fast an account is asked: growth, setbacks, outages, and caps a minute."""

from __future__ import annotations

import asyncio

import pytest

from anachron.llm.limits import DECREASE, START, Pace, PerMinute


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


async def admitted(pace: Pace) -> int:
    """Enter until the pace says wait; return how many got in."""
    count = 0
    while True:
        try:
            await asyncio.wait_for(pace.enter(), 0.005)
        except TimeoutError:
            return count
        count += 1


def test_concurrency_doubles_each_round_trip_up_to_its_cap():
    async def run() -> list[int]:
        pace, seen = Pace(50, clock=Clock()), []
        for _ in range(5):
            seen.append(await admitted(pace))
            for _ in range(seen[-1]):
                pace.answered()
        return seen

    assert asyncio.run(run()) == [START, 2 * START, 4 * START, 50, 50]


def test_many_refusals_of_one_flight_are_one_setback_and_nothing_is_sent_before_its_end():
    async def run() -> None:
        clock = Clock()
        pace = Pace(50, clock=clock)
        entered = [await pace.enter() for _ in range(8)]
        clock.now += 1
        for when in entered:
            pace.failed(when, True, 7.0)
        assert pace.limit == pytest.approx(START * DECREASE) and pace.setbacks == 1
        clock.now += 6.9
        assert await admitted(pace) == 0
        clock.now += 0.2
        assert await admitted(pace) == int(START * DECREASE)

    asyncio.run(run())


def test_an_outage_is_probed_by_one_request_with_doubling_pauses_and_ends_with_an_answer():
    async def run() -> None:
        clock = Clock()
        pace = Pace(8, clock=clock)
        entered = [await pace.enter() for _ in range(8)]
        clock.now += 1
        for when in entered:
            pace.failed(when, False, None)
        for pause in (1.0, 2.0, 4.0):
            clock.now += pause - 0.01
            assert await admitted(pace) == 0
            clock.now += 0.02
            assert await admitted(pace) == 1, "one probe"
            pace.failed(clock.now, False, None)
        assert pace.setbacks == 4
        clock.now += 8.01
        await pace.enter()
        pace.answered()
        assert pace.setbacks == 0 and pace.limit > 8 * DECREASE

    asyncio.run(run())


def test_a_failure_now_and_then_slows_nothing():
    async def run() -> None:
        pace = Pace(8, clock=Clock())
        for _ in range(20):
            pace.failed(await pace.enter(), False, None)
            await pace.enter()
            pace.answered()
        assert pace.limit == 8 and pace.setbacks == 0

    asyncio.run(run())


@pytest.mark.parametrize("most", [0.5, 1.0, 7.0, 60.0, 600.0])
@pytest.mark.parametrize("largest", [1.0, 40.0])
def test_no_minute_lets_more_through_than_its_cap(monkeypatch, most, largest):
    async def run() -> tuple[list[float], float]:
        loop, now, sent = asyncio.get_running_loop(), [1000.0], []
        monkeypatch.setattr(loop, "time", lambda: now[0])
        cap = PerMinute(most, largest)
        amount = min(largest, cap._size)
        while now[0] < 1000 + 240:
            if cap._limiter.has_capacity(amount):
                await cap.take(amount)
                sent.append(now[0])
            else:
                now[0] += 0.05
        return sent, amount

    sent, amount = asyncio.run(run())
    assert sent
    for start in sent:
        in_a_minute = sum(amount for time in sent if start <= time < start + 60)
        assert in_a_minute <= max(most, 1.0) + 1e-6
