"""The tables of published records, each as rows with the same columns.

A row has model, arm, item, rep, text, cut (it ended at its token limit), failed, place (where it was recorded; text
that sorts as the records do), output_tokens, shown_date, recorded (JSON) and logprobs (JSON).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from anachron import frames
from anachron.blocks import months
from anachron.errors import ImportFailure
from anachron.files import canonical_json
from anachron.suites.numleak import naming
from anachron.suites.numleak.panels import seeded_panel

COLUMNS = [
    "model",
    "arm",
    "item",
    "rep",
    "text",
    "cut",
    "failed",
    "place",
    "output_tokens",
    "shown_date",
    "recorded",
    "logprobs",
]
SEEDED_WINDOW = ("1963-07", "2022-12")
SEEDED_SIZE = 40
VARIANTS = {"B": naming.DESCRIBE, "D": naming.REASON, "E": naming.SAMPLE}
CONDITIONS = {"recent_release": naming.RECENT, "recent": naming.RECENT, "ancient_era": naming.ANCIENT}
ERAS = {"modern": naming.SIGNAL, "ancient": naming.SIGNAL_ANCIENT, "scrambled+6m": naming.SIGNAL_SHIFTED}
CANDIDATES = {
    "true": "true",
    "sign_flip": "sign",
    "adjacent_month": "adjacent",
    "wrong_series": "other",
    "random_decoy": "decoy",
}
GROUPS = {"conceptual": "conceptual", "qual_historical": "historical", "adjacent_numeric": "numeric"}
NAME, MONTH = re.compile(r"(?s).*\S.*"), re.compile(r"\d{4}-(0[1-9]|1[0-2])")
QUESTION = ("utility_group", "utility_idx")
NO_MONTH = "1963-07"
"""Stands before the name of a question that has no month."""


def truth(folder: Path) -> pd.DataFrame:
    """Return item, month, series, value and unit of every true value that the records bring.

    Raises
    ------
    ImportFailure
        When ``truth.parquet`` is missing, or gives a series two values in a month.
    """
    found = _read(folder, "truth", ("series", "month", "value", "unit"))
    if found is None:
        raise ImportFailure(f"{folder}: holds no truth.parquet; answers cannot be held against anything")
    probes = _read(folder, "probes", ("series", "month"))
    if probes is not None and {"truth", "unit"} <= set(probes.columns):
        # Series whose truth stands with the answers alone, such as rate changes.
        other = probes[~probes["series"].isin(set(found["series"])) & probes["truth"].notna()]
        found = pd.concat([found, other.rename(columns={"truth": "value"})], ignore_index=True)
    found = found[["series", "month", "value", "unit"]].drop_duplicates()
    twice = found[found.duplicated(["series", "month"])]
    if len(twice):
        first = twice.iloc[0]
        raise ImportFailure(f"{folder}: {first['series']} has two true values in {first['month']}")
    found["item"] = [naming.item(*one) for one in zip(found["month"], found["series"], strict=True)]
    ordered = found.sort_values(["month", "series"], ignore_index=True)
    return ordered[["item", "month", "series", "value", "unit"]]


def rows(folder: Path) -> pd.DataFrame:
    """Return all records of a folder.

    Raises
    ------
    ImportFailure
        When the folder holds none of the tables, or a table lacks a column.
    """
    if not folder.is_dir():
        raise ImportFailure(f"{folder}: no such folder; give the folder that holds the records")
    found = [frame for read in READERS if (frame := read(folder)) is not None and len(frame)]
    if not found:
        raise ImportFailure(f"{folder}: holds no table of records of this suite, such as probes.parquet")
    whole = pd.concat([frame.reindex(columns=COLUMNS) for frame in found], ignore_index=True)
    for name in ("cut", "failed"):
        whole[name] = whole[name].eq(True)
    texts = ("model", "arm", "item", "text", "place", "shown_date", "recorded", "logprobs")
    return whole.astype(dict.fromkeys(texts, "str"))


def _read(folder: Path, name: str, needed: tuple[str, ...]) -> pd.DataFrame | None:
    path = folder / f"{name}.parquet"
    if not path.exists():
        return None
    frame = frames.read_parquet(path)
    lacking = [column for column in needed if column not in frame.columns]
    if lacking:
        raise ImportFailure(f"{path}: lacks the column {lacking[0]!r}; it has {', '.join(frame.columns)}")
    if "line" in needed:
        frame = frame.assign(line=_lines(frame["line"], path))
    for column in ("model", "model_tag", "month", "month1", "month2", "date"):
        if column in needed:
            # Questions of utility have no month.
            _stated(frame, column, path, lacking=name == "mitigation" and column == "month")
    return frame.reset_index(drop=True)


def _lines(column: pd.Series, path: Path) -> pd.Series:
    """Return line numbers as whole numbers, however they are stored: records are ordered by them."""
    found = pd.to_numeric(column.astype(object), errors="coerce")
    odd = found.isna() | (found % 1 != 0) | (found < 0)
    if odd.any():
        place = int(odd.to_numpy().argmax())
        raise ImportFailure(
            f"{path}: row {place + 1} has the line {column.iloc[place]!r}; `line` is the number of the line that "
            "the record was read from, which orders the records"
        )
    return found.astype(int)


def _stated(frame: pd.DataFrame, column: str, path: Path, lacking: bool) -> None:
    """Raise `ImportFailure` where a model has no name or a month is not YYYY-MM; `lacking`: it may be missing."""
    texts = frame[column].astype(object)
    form, rule = (NAME, "a name") if column.startswith("model") else (MONTH, "a month as YYYY-MM")
    odd = [
        not (lacking and pd.isna(text)) and not (isinstance(text, str) and form.fullmatch(text))
        for text in texts
    ]
    if any(odd):
        place = odd.index(True)
        raise ImportFailure(
            f"{path}: row {place + 1} has {texts.iloc[place]!r} as `{column}`; it must be {rule}"
        )


def _places(frame: pd.DataFrame) -> list[str]:
    return [f"{file}:{line:07d}" for file, line in zip(frame["file"], frame["line"], strict=True)]


def _common(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that most tables share."""
    kept = pd.DataFrame({"model": frame["model"], "text": frame["response"], "rep": 0})
    kept["place"] = _places(frame)
    kept["output_tokens"] = frame.get("out_tokens", None)
    if "hit_cap" in frame:
        kept["cut"] = frame["hit_cap"].eq(True)
    kept["failed"] = frame["error"].notna() & frame["response"].isna() if "error" in frame else False
    return kept


def _probes(folder: Path) -> pd.DataFrame | None:
    needed = (
        "file",
        "line",
        "model",
        "series",
        "month",
        "variant",
        "condition",
        "response",
        "month_sample_seed",
    )
    frame = _read(folder, "probes", needed)
    if frame is None:
        return None
    if (folder / "entropy.parquet").exists():  # the same answers, with their log-probabilities
        frame = frame[frame["condition"] != "logprob_probe"]
    kept = _common(frame)
    kept["item"] = [naming.item(*one) for one in zip(frame["month"], frame["series"], strict=True)]
    seeds = frame["month_sample_seed"].fillna(0).astype(int)
    kept["arm"], kept["rep"] = _arms(frame, seeds), seeds.where(seeds.isin([1, 2, 3]), 0)
    drawn = frame["variant"] == "E"
    if "rep" in frame:
        kept.loc[drawn, "rep"] = frame.loc[drawn, "rep"].fillna(0).astype(int)
    return kept


def _arms(frame: pd.DataFrame, seeds: pd.Series) -> list[str]:
    window = months(*SEEDED_WINDOW)
    panels: dict[tuple[str, int], set[str]] = {}
    found = []
    columns = (frame["variant"], frame["condition"].fillna(""), frame["series"], frame["month"], seeds)
    # A file is one run: its months say by which rule they were drawn.
    runs = frame.assign(seed=seeds).groupby(["file", "series", "seed"])["month"].agg(set).to_dict()
    for variant, condition, series, _month, seed, file in zip(*columns, frame["file"], strict=True):
        if condition:
            found.append(CONDITIONS.get(condition, naming.arm_slug(condition)))
        elif variant in VARIANTS:
            found.append(VARIANTS[variant])
        elif seed not in (1, 2, 3):
            found.append(naming.VALUE)
        else:
            if (series, seed) not in panels:
                panels[series, seed] = set(seeded_panel(window, series, seed, SEEDED_SIZE))
            seeded = runs[file, series, seed] <= panels[series, seed]
            found.append(naming.PANELS if seeded else naming.HISTORY)
    return found


def _ranking(folder: Path) -> pd.DataFrame | None:
    needed = ("file", "line", "model", "series", "kind", "month1", "month2", "response")
    frame = _read(folder, "ranking", needed)
    if frame is None:
        return None
    kept = _common(frame)
    pairs = zip(frame["month1"], frame["month2"], frame["series"], strict=True)
    kept["item"] = [naming.pair_item((one, other), series) for one, other, series in pairs]
    forced = frame["kind"].eq("forced_choice")
    kept["arm"] = forced.map({True: naming.RANK_FORCED, False: naming.RANK})
    return kept


def _fabrication(folder: Path) -> pd.DataFrame | None:
    frame = _read(folder, "fabrication", ("file", "line", "model", "name", "kind", "month", "response"))
    if frame is None:
        return None
    frame = frame[frame["kind"] != "logprob_probe"] if (folder / "entropy.parquet").exists() else frame
    kept = _common(frame)
    kept["item"] = [naming.item(*one) for one in zip(frame["month"], frame["name"], strict=True)]
    kept["arm"] = [
        naming.FABRICATED if kind == "expanded" else f"{naming.FABRICATED}-{naming.arm_slug(kind)}"
        for kind in frame["kind"]
    ]
    return kept


def _sentiment(folder: Path) -> pd.DataFrame | None:
    frame = _read(folder, "sentiment", ("file", "line", "model", "era", "month", "prompt_month", "response"))
    if frame is None:
        return None
    kept = _common(frame)
    kept["item"] = [naming.item(month, naming.SIGNAL) for month in frame["month"]]
    kept["arm"] = [ERAS.get(era, f"{naming.SIGNAL}-{naming.arm_slug(era)}") for era in frame["era"]]
    kept["shown_date"] = frame["prompt_month"]
    if "recall" in frame:
        kept["recorded"] = [
            canonical_json({"recall": None if one != one else one}) for one in frame["recall"]
        ]
    return kept


def _mitigation(folder: Path) -> pd.DataFrame | None:
    needed = ("file", "line", "kind", "model", "defense", "response", "month", "adv_idx", *QUESTION)
    frame = _read(folder, "mitigation", needed)
    if frame is None:
        return None
    kept = _common(frame)
    scores = _scores(frame)
    arms, items, reps, recorded = [], [], [], []
    for one in frame.to_dict("records"):
        kind, defence, score = one["kind"], naming.arm_slug(one["defense"]), None
        if kind == "utility":
            place = (one["model"], one["defense"], one["utility_group"], one["utility_idx"])
            score = scores.get(place)
            group = GROUPS.get(one["utility_group"], naming.arm_slug(one["utility_group"]))
            items.append(f"{NO_MONTH} {group} {_index(one, 'utility_idx', folder) + 1}")
            arms.append(naming.UTILITY + defence)
        else:
            pilot = not kind.startswith("recall_")
            items.append(naming.item(one["month"], naming.MARKET) if isinstance(one["month"], str) else "")
            arms.append((naming.PILOT if pilot else naming.DEFENCE) + defence)
        reps.append(_index(one, "adv_idx", folder) + 1 if kind == "recall_adv" else 0)
        recorded.append(canonical_json(score) if score else None)
    kept = kept.assign(
        arm=arms, item=items, rep=reps, recorded=pd.Series(recorded, index=kept.index, dtype="str")
    )
    return kept[frame["kind"].ne("utility_judge").to_numpy() & (kept["item"] != "")]


def _index(record: dict[Any, Any], column: str, folder: Path) -> int:
    """Return the number of a suffix or question."""
    try:
        return int(record[column])
    except (TypeError, ValueError, OverflowError):
        raise ImportFailure(
            f"{folder / 'mitigation.parquet'}: {record['file']}, line {record['line']} ({record['kind']}) has "
            f"{record[column]!r} as `{column}`; it must be a whole number from 0"
        ) from None


def _scores(frame: pd.DataFrame) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return judge and score of each utility answer; the first judge's where there are several."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    if "judge_score" not in frame or "judge" not in frame:
        return found
    for one in frame[frame["kind"] == "utility_judge"].to_dict("records"):
        place = (one["model"], one["defense"], one["utility_group"], one["utility_idx"])
        if one["judge_score"] == one["judge_score"]:
            found.setdefault(place, {"judge": str(one["judge"]), "score": float(one["judge_score"])})
    return found


def _entropy(folder: Path) -> pd.DataFrame | None:
    frame = _read(
        folder, "entropy", ("file", "line", "model", "condition", "series", "month", "response", "tokens")
    )
    if frame is None:
        return None
    kept = _common(frame)
    kept["item"] = [naming.item(*one) for one in zip(frame["month"], frame["series"], strict=True)]
    kept["arm"] = [
        naming.ENTROPY if condition.lower() != "fabricated" else f"{naming.ENTROPY}-fabricated"
        for condition in frame["condition"]
    ]
    where = [f"{folder / 'entropy.parquet'}: {place.replace(':', ', line ')}" for place in kept["place"]]
    kept["logprobs"] = [_steps(text, place) for text, place in zip(frame["tokens"], where, strict=True)]
    return kept


def _steps(text: object, place: str) -> str | None:
    """Return recorded tokens in the form of `frames.Transcripts.logprobs`; None where none were recorded."""
    if not isinstance(text, str) or not text.strip():
        return None
    try:
        steps = [
            {
                "token": step["token"],
                "logprob": float(step["logprob"]),
                "top": [[top["token"], float(top["logprob"])] for top in step.get("top_logprobs") or []],
            }
            for step in json.loads(text)
        ]
        return canonical_json(steps)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise ImportFailure(
            f"{place}: `tokens` holds {text[:40]!r}; it must be JSON, a list of objects with `token`, `logprob` and "
            "`top_logprobs`"
        ) from None


def _candidates(folder: Path) -> pd.DataFrame | None:
    needed = ("file", "line", "model_tag", "date", "candidate", "candidate_text", "mean_logprob")
    frame = _read(folder, "logprob_ranking", needed)
    if frame is None:
        return None
    frame = frame.rename(columns={"model_tag": "model", "candidate_text": "response"})
    kept = _common(frame)
    kinds = frame["candidate"].map(CANDIDATES)
    if kinds.isna().any():
        strange = frame["candidate"][kinds.isna()].iloc[0]
        raise ImportFailure(f"{folder / 'logprob_ranking.parquet'}: candidate {strange!r} is not known")
    kept["item"] = [f"{month} candidate {kind}" for month, kind in zip(frame["date"], kinds, strict=True)]
    kept["arm"] = naming.CANDIDATES
    kept["recorded"] = [canonical_json({"mean_logprob": float(one)}) for one in frame["mean_logprob"]]
    return kept


READERS: tuple[Callable[[Path], pd.DataFrame | None], ...] = (
    _probes,
    _ranking,
    _fabrication,
    _sentiment,
    _mitigation,
    _entropy,
    _candidates,
)
