"""Yahoo month-end prices: charts of daily bars through yfinance, kept raw, and `resources/yahoo.parquet`.

yfinance brings the session that Yahoo accepts (cookie, crumb, a browser's handshake). It is told to raise what
goes wrong, its answers are recorded as they came, and the table is made from those bytes (`yahoo_chart`).
"""

from __future__ import annotations

import datetime as dt
import json
import re
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron.errors import SourceError
from anachron.sources import raw, yahoo_chart
from anachron.sources.download import LONGEST_WAIT_S, RETRIES, excerpt, retry_after

if TYPE_CHECKING:
    import pandas as pd

SOURCE = "yahoo"
START = "1998-12-01"
TIMEOUT_S = 30.0
PAUSE_S = 0.5
"""Seconds between two tickers."""

RATE_LIMIT_WAIT_S = 60.0
"""First wait after an HTTP 429 that does not say how long; the next ones are twice as long each."""

_TICKER = re.compile(r"[A-Z0-9^.&=$_-]{1,30}")
_ISIN = re.compile(r"[A-Z]{2}[A-Z0-9]{9}[0-9]")

FRESH_HOURS = 12.0
"""A chart fetched this recently is not asked for again, so that a run that was stopped goes on where it stopped."""


class RateLimited(SourceError):  # noqa: N818 - the state of the source, told apart from faults of one ticker
    """Yahoo kept answering 429."""


def fetch(
    tickers: Sequence[str],
    raw_folder: Path,
    out: Path,
    *,
    start: str = START,
    session: Any = None,
    retries: int = RETRIES,
    timeout_s: float = TIMEOUT_S,
    fresh_hours: float = FRESH_HOURS,
    pause_s: float = PAUSE_S,
    sleep: Callable[[float], None] = time.sleep,
) -> list[str]:
    """Fetch the tickers' daily bars since `start`, keep the charts raw, write month ends to `out`.

    There is no end date: splits are taken out of Yahoo's prices up to today, so they must be read up to today.

    Parameters
    ----------
    tickers
        As Yahoo spells them now; lower case is read as upper case.
    raw_folder, out
        Raw store and table (`contracts.Yahoo`).
    session
        A session of `recording_session`; one to Yahoo itself when None.
    retries
        Attempts after the first, for broken connections, time-outs, 5xx and 429.
    fresh_hours
        Charts kept within that many hours are taken as they are.
    sleep
        Waits; tests pass their own.

    Returns
    -------
    list[str]
        One line per ticker: what was found.

    Raises
    ------
    SourceError
        After all tickers were tried, or as soon as Yahoo keeps refusing (429): names each ticker that failed and
        why. The charts that came are kept, and `out` stands as it was.
    """
    wanted = _tickers(tickers, start)
    client = session or recording_session()
    report: list[str] = []
    faults: list[str] = []
    done = 0
    for ticker in wanted:
        try:
            if not _is_fresh(raw_folder, ticker, start, fresh_hours):
                if done:
                    sleep(pause_s)
                report.append(_refresh(ticker, start, raw_folder, client, retries, timeout_s, sleep))
            else:
                report.append(f"{ticker}: fetched within the last {fresh_hours:g} hours, taken as it is")
            done += 1
        except RateLimited as error:
            left = wanted[wanted.index(ticker) :]
            raise SourceError(
                "\n".join([*faults, str(error)])
                + f"\nYahoo: {done} of {len(wanted)} tickers are fetched and kept; not yet: {', '.join(left)}. "
                f"{out} was not touched. Run the same command later: it goes on from here."
            ) from None
        except SourceError as error:
            faults.append(str(error))
    if faults:
        raise SourceError(
            "\n".join(faults)
            + f"\nYahoo: {done} of {len(wanted)} tickers are fetched and kept; {out} was not touched"
        )
    build(wanted, raw_folder, out, start=start)
    return report


def build(tickers: Sequence[str], raw_folder: Path, out: Path, *, start: str = START) -> None:
    """Write month ends from the newest raw chart of each ticker; no network, the same charts give the same bytes.

    A ticker has a row for every month from `start` on that was over when its chart was fetched; prices are
    missing where it has no bar on the month's last session (before its first listing, or untraded).
    """
    wanted = _tickers(tickers, start)
    with raw.turn(raw_folder / SOURCE, out.parent):
        _build(wanted, raw_folder, out, start)


def _build(tickers: Sequence[str], raw_folder: Path, out: Path, start: str) -> None:
    import pandas as pd

    from anachron import frames
    from anachron.sources.contracts import Yahoo

    parts = []
    ends: dict[str, pd.Series] = {}
    for ticker in sorted(set(tickers)):
        kept = raw.latest(raw_folder, SOURCE, _name(ticker, start))
        if kept is None:
            raise SourceError(
                f"Yahoo, {ticker}: no chart since {start} in {raw_folder / SOURCE}; run `anachron fetch yahoo`"
            )
        bars, splits = yahoo_chart.parse(raw.read(kept), ticker, f"Yahoo, {ticker}, {kept.file}")
        day = kept.fetched_at[:10]
        if day not in ends:
            ends[day] = yahoo_chart.last_sessions(start, day)
        table = yahoo_chart.month_ends(yahoo_chart.as_quoted(bars, splits), ends[day])
        parts.append(table.assign(ticker=ticker, fetched_at=kept.fetched_at))
    whole = pd.concat(parts, ignore_index=True)
    columns = list(Yahoo.to_schema().columns)
    frames.write(whole[columns].sort_values(["ticker", "month"], ignore_index=True), out, Yahoo)


def recording_session(base_url: str | None = None) -> Any:
    """Return a session for yfinance that remembers the last chart it was given.

    Parameters
    ----------
    base_url
        Where to send what is meant for Yahoo's hosts: a gateway, or a test's own server. Yahoo when None.

    Returns
    -------
    curl_cffi.requests.Session
        With `last`, the newest answer to a chart request, None before the first.
    """
    from urllib.parse import urlsplit, urlunsplit

    from curl_cffi import requests

    class RecordingSession(requests.Session[Any]):
        last: Any = None

        def request(self, method: Any, url: str, *args: Any, **kwargs: Any) -> Any:
            parts = urlsplit(url)
            if base_url is not None and (parts.hostname or "").endswith("yahoo.com"):
                there = urlsplit(base_url)
                url = urlunsplit(
                    (there.scheme, there.netloc, there.path.rstrip("/") + parts.path, parts.query, "")
                )
            is_chart = "/v8/finance/chart/" in parts.path
            if is_chart:
                self.last = None
            answer = super().request(method, url, *args, **kwargs)
            if is_chart:
                self.last = answer
            return answer

    return RecordingSession(impersonate="chrome")


def _refresh(
    ticker: str,
    start: str,
    raw_folder: Path,
    session: Any,
    retries: int,
    timeout_s: float,
    sleep: Callable[[float], None],
) -> str:
    where = f"Yahoo, {ticker}"
    for attempt in range(retries + 1):
        limited, said = False, ""
        try:
            history = _ask(ticker, start, session, timeout_s)
        except Exception as error:
            # yfinance raises its own errors, curl_cffi's, json's and KeyErrors alike: what the answer was decides.
            limited, passing, said = _judge(error, session.last)
            if not passing:
                raise SourceError(f"{where}: {said}") from None
        else:
            return _keep(ticker, start, raw_folder, session.last, history)
        if attempt < retries:
            wait_s = RATE_LIMIT_WAIT_S * 2.0**attempt if limited else 2.0**attempt
            header = session.last.headers.get("retry-after") if session.last is not None else None
            wait_s = retry_after(header, dt.datetime.now(dt.UTC), wait_s)
            if wait_s > LONGEST_WAIT_S:
                said += f", and asks to wait {wait_s:.0f} s"
                break
            sleep(wait_s)
    kind = RateLimited if limited else SourceError
    raise kind(f"{where}: {said}; gave up after {attempt + 1} attempts")


def _ask(ticker: str, start: str, session: Any, timeout_s: float) -> pd.DataFrame:
    import yfinance

    debug = yfinance.config.debug
    hidden = debug.hide_exceptions
    debug.hide_exceptions = False
    try:
        session.last = None
        # Kept answers, faulty ones too, would stand in for the ones that a further attempt asks for.
        yfinance.data.YfData.cache_get.cache_clear()
        with warnings.catch_warnings():
            # How yfinance calls pandas is nothing a user of this command can mend.
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
            history: pd.DataFrame = yfinance.Ticker(ticker, session=session).history(
                start=start,
                interval="1d",
                auto_adjust=False,
                actions=True,
                repair=False,
                timeout=timeout_s,
            )
    finally:
        debug.hide_exceptions = hidden
    return history


def _judge(error: Exception, answer: Any) -> tuple[bool, bool, str]:
    """Return whether Yahoo limits the rate, whether the fault may pass, and what happened."""
    if type(error).__name__ == "YFRateLimitError" or (answer is not None and answer.status_code == 429):
        return True, True, "HTTP 429, too many requests"
    if answer is None:
        return False, True, f"the connection failed or timed out ({error or type(error).__name__})"
    body = answer.content
    if answer.status_code >= 500:
        return False, True, f"HTTP {answer.status_code}: {excerpt(body)}"
    try:
        told = json.loads(body)["chart"]["error"]["description"]
        return False, False, f"Yahoo says {told!r}; the ticker may be wrong, renamed or delisted"
    except (ValueError, KeyError, TypeError):
        pass
    if answer.status_code >= 400:
        return False, False, f"HTTP {answer.status_code}: {excerpt(body)}"
    try:
        json.loads(body)
    except ValueError:
        kind = "a web page" if body.lstrip()[:1] == b"<" else "not JSON, or cut short"
        return False, True, f"the answer is {kind}: {excerpt(body)}"
    return False, False, f"the answer is no chart ({type(error).__name__}: {error}): {excerpt(body)}"


def _keep(ticker: str, start: str, raw_folder: Path, answer: Any, history: pd.DataFrame) -> str:
    """Keep a chart, once it is one and yfinance read the same closes in it."""
    where = f"Yahoo, {ticker}"
    bars, splits = yahoo_chart.parse(answer.content, ticker, where)
    now = dt.datetime.now(dt.UTC)
    for what, days in (("bar", bars.index), ("split", splits.index)):
        # A split still to come is not yet taken out of the prices, and must not be put back.
        if len(days) and days[-1] > now.date().isoformat():
            raise SourceError(f"{where}: a {what} of the future, {days[-1]}")
    theirs = history["Close"].set_axis([day.date().isoformat() for day in history.index])
    # The running session is left out: yfinance replaces its bar by the last quote.
    ours = bars["close"].dropna().iloc[:-1]
    differ = ours.index[~ours.eq(theirs.reindex(ours.index))]
    if len(differ):
        raise SourceError(f"{where}: yfinance and the recorded answer disagree on the close of {differ[0]}")
    kept = raw.keep(
        raw_folder, SOURCE, _name(ticker, start), str(answer.url), answer.content, dict(answer.headers), now
    )
    state = "kept" if kept.changed else "not changed"
    return f"{ticker}: {len(bars):,} bars {bars.index[0]} to {bars.index[-1]}, {len(splits)} splits, {state}"


def _is_fresh(raw_folder: Path, ticker: str, start: str, hours: float) -> bool:
    kept = raw.intact(raw.latest(raw_folder, SOURCE, _name(ticker, start)))
    if kept is None or hours <= 0:
        return False
    age = dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(kept.fetched_at)
    return age < dt.timedelta(hours=hours)


def _tickers(tickers: Sequence[str], start: str) -> list[str]:
    """Return tickers as Yahoo spells them, each once; refuse what cannot be one, and a start that is no day gone by."""
    wanted = list(dict.fromkeys(ticker.strip().upper() for ticker in tickers))
    if not wanted:
        raise SourceError("Yahoo: no ticker to fetch; name at least one")
    for ticker in wanted:
        if not _TICKER.fullmatch(ticker):
            raise SourceError(
                f"Yahoo: {ticker!r} is no ticker; those are letters, digits and ^.-=&$, as in BRK-B and ^GSPC"
            )
        if _ISIN.fullmatch(ticker):
            raise SourceError(f"Yahoo: {ticker} is the number of a security (ISIN); ask for its ticker")
    try:
        past = dt.date.fromisoformat(start) < dt.datetime.now(dt.UTC).date() and start[4] == start[7] == "-"
    except ValueError:
        past = False
    if not past:
        raise SourceError(f"Yahoo: the start {start!r} is no day that has passed; allowed is YYYY-MM-DD")
    return wanted


def _name(ticker: str, start: str) -> str:
    """Name of a chart in the raw store; a chart since another day is another thing."""
    return f"{ticker}.since-{start}.json"
