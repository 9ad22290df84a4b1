"""The planted server: what it answers is what the planted provider answers, and its faults are what they say."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from email.utils import parsedate_to_datetime
from pathlib import Path

import pandas as pd
import pytest
import yaml
from serving import call, chat, says, served

from anachron import frames, stages, stages_serve, suites
from anachron.config import ModelEntry
from anachron.errors import AnachronError, ConfigError
from anachron.files import sha256_text
from anachron.llm import serve_faults
from anachron.llm.collect import collect
from anachron.llm.providers import Reply
from anachron.llm.serve_faults import Fault, due, meeting, parse, switch_on

ROOT = Path(__file__).resolve().parents[2]
PROTOCOL = ROOT / "config/test/protocol.yaml"
REGISTRY = ROOT / "config/test/models.yaml"
SUITE = "hindsightbench"


def tables() -> dict[str, pd.DataFrame]:
    """Requests of three arms, with wording of their own: respondents look at arm, date and rep."""
    months = ["2012-09", "2013-05", "2015-03", "2015-11"]
    made = {}
    for arm, reps, cap in (("D", 2, 8000), ("LAP", 5, 64), ("REC", 1, 256)):
        rows = [
            {
                "suite": SUITE,
                "arm": arm,
                "item": f"{month}-15",
                "rep": rep,
                "system": f"Answer as {arm}.",
                "prompt": f"{arm}: what of {month}?",
                "shown_date": None if arm == "REC" else f"{month}-15",
                "temperature": 0.2,
                "max_tokens": cap,
                "tiers": "full,full-1rep,reduced" if rep < 2 else "full",
            }
            for month in months
            for rep in range(reps)
        ]
        made[arm] = frames.check(pd.DataFrame(rows), frames.Requests, "test")
    return made


@pytest.fixture
def written(tmp_path: Path) -> list[Path]:
    paths = []
    for arm, table in tables().items():
        paths.append(tmp_path / "requests" / arm / "all.parquet")
        frames.write(table, paths[-1], frames.Requests)
    return paths


@pytest.mark.parametrize("name", ["tiny-trigger", "tiny/amnesiac: two"])
def test_the_server_says_what_the_provider_in_this_process_says(tmp_path, written, name):
    entry = ModelEntry.model_validate(
        next(one for one in yaml.safe_load(REGISTRY.read_text())["models"] if one["name"] == name)
    ).model_copy(update={"tier": "full"})
    protocol = suites.load_protocol(SUITE, PROTOCOL)
    respond, remembers = stages.planted_respondent(entry, SUITE, protocol, [])
    table = pd.concat(tables().values(), ignore_index=True)
    sealed = collect(
        entry, SUITE, table, tmp_path / "store", respond, respondent=remembers, progress=False
    ).set_index(["arm", "item", "rep"])
    (model,) = stages_serve.models(REGISTRY, [name], [PROTOCOL], [tmp_path / "requests"], [])
    with served(model.answer) as server:
        for row in table.sort_values(["arm", "item", "rep"]).itertuples():
            status, _, raw = call(
                f"{server.url}/chat/completions", chat(row.prompt, row.system, max_tokens=row.max_tokens)
            )
            assert status == 200, raw
            answer, expected = json.loads(raw), sealed.loc[(row.arm, row.item, row.rep)]
            choice, usage = answer["choices"][0], answer["usage"]
            assert choice["message"]["content"] == expected["text"]
            assert choice["finish_reason"] == expected["finish_reason"]
            assert usage["prompt_tokens"] == expected["input_tokens"]
            assert usage["completion_tokens"] == expected["output_tokens"]
        assert server.hits.by_prompt == dict(sealed["prompt_sha256"].value_counts())
    assert sealed["text"].nunique() > 8, "respondents that say one thing would prove nothing"


def test_an_unknown_prompt_model_or_role_is_refused_in_words(written, tmp_path):
    (model,) = stages_serve.models(REGISTRY, ["tiny-trigger"], [PROTOCOL], written, [])
    with served(model.answer) as server:
        url = f"{server.url}/chat/completions"
        status, _, raw = call(url, chat("Never asked?"))
        assert status == 404 and json.loads(raw)["error"]["code"] == "unknown_prompt"
        assert sha256_text("Never asked?") in json.loads(raw)["error"]["message"]
        status, _, raw = call(url, chat() | {"model": "other"})
        assert status == 404 and "planted one" in json.loads(raw)["error"]["message"]
        for broken in (
            b"{",
            b"[]",
            chat() | {"messages": []},
            chat() | {"messages": [{"role": "tool", "content": "x"}]},
            chat() | {"messages": [{"role": "user", "content": 7}]},
            chat() | {"stream": True},
            chat(max_tokens=0),
        ):
            status, _, raw = call(url, broken)
            assert status == 400, broken
            assert json.loads(raw)["error"]["message"]
        assert server.hits.unknown == 1 and server.hits.answered == 0


def test_the_dialect(tmp_path):
    logprobs = [{"token": "a", "logprob": -0.5, "top": [["a", -0.5], ["b", -1.0]]}]

    def answer(system, prompt, before):
        return Reply(
            text="abcdefgh" * 10,
            reasoning="thought",
            finish_reason="stop",
            input_tokens=9,
            cached_tokens=4,
            output_tokens=20,
            reasoning_tokens=3,
            upstream="elsewhere",
            logprobs=json.dumps(logprobs),
        )

    with served(answer) as server:
        _, headers, raw = call(f"{server.url}/chat/completions", chat(max_completion_tokens=5, logprobs=True))
        said = json.loads(raw)
        choice = said["choices"][0]
        assert choice["message"]["content"] == ("abcdefgh" * 10)[:20]
        assert choice["message"]["reasoning_content"] == "thought"
        assert choice["finish_reason"] == "length"
        assert said["usage"]["completion_tokens"] == 5
        assert said["usage"]["prompt_tokens_details"]["cached_tokens"] == 4
        assert said["usage"]["completion_tokens_details"]["reasoning_tokens"] == 3
        assert (said["model"], said["provider"]) == ("planted one", "elsewhere")
        first = choice["logprobs"]["content"][0]
        assert (first["token"], first["logprob"], first["top_logprobs"][1]["token"]) == ("a", -0.5, "b")
        assert headers["x-request-id"].startswith("req_")
        developer = chat()
        developer["messages"][0] = {"role": "developer", "content": [{"type": "text", "text": "Answer."}]}
        other = json.loads(call(f"{server.url}/chat/completions", developer)[2])
        assert other["choices"][0]["finish_reason"] == "stop" and other["choices"][0]["logprobs"] is None
        assert other["id"] != said["id"], "the same question again is another answer"
        listed = json.loads(call(f"{server.url}/models")[2])
        assert [model["id"] for model in listed["data"]] == ["planted one"]


def test_a_key_is_asked_for_and_told_to_nobody():
    with served(api_key="sesame-93") as server:
        url = f"{server.url}/chat/completions"
        assert call(url, chat())[0] == 401
        assert call(url, chat(), headers={"Authorization": "Bearer sesame"})[0] == 401
        assert call(f"{server.url}/models")[0] == 401
        assert call(url, chat(), headers={"Authorization": "Bearer sesame-93"})[0] == 200
        assert server.hits.unauthorized == 2
        assert b"sesame" not in call(url, chat())[2] + call(f"{server.url[:-3]}/hits")[2]


@pytest.mark.parametrize("status", sorted(serve_faults.ERRORS))
def test_statuses_refuse_and_use_up_no_answer(status):
    with served(faults=[Fault(name=str(status), argument="3", count=2)]) as server:
        url = f"{server.url}/chat/completions"
        for _ in range(2):
            found, headers, raw = call(url, chat())
            assert (found, headers["Retry-After"]) == (status, "3")
            assert json.loads(raw)["error"]["code"]
        assert json.loads(call(url, chat())[2])["choices"][0]["message"]["content"] == "yes 0"
        assert (server.hits.total, server.hits.answered) == (3, 1)
        assert server.hits.faults == {str(status): 2}


def fault_response(name: str, argument: str | None = None):
    with served(faults=[Fault(name=name, argument=argument)]) as server:
        return call(f"{server.url}/chat/completions", chat())


def test_other_refusals():
    status, headers, raw = fault_response("429")
    assert status == 429 and headers["Retry-After"] is None
    status, _, raw = fault_response("quota")
    assert status == 429 and json.loads(raw)["error"]["code"] == "insufficient_quota"
    status, headers, _ = fault_response("retry-after-date", "90")
    assert status == 429 and 80 < parsedate_to_datetime(headers["Retry-After"]).timestamp() - time.time() < 91
    status, headers, _ = fault_response("redirect", "https://example.org/x")
    assert status == 307 and headers["Location"] == "https://example.org/x"


def test_changed_answers():
    assert json.loads(fault_response("finish")[2])["choices"][0]["finish_reason"].startswith("stopped_for")
    assert json.loads(fault_response("finish", "length")[2])["choices"][0]["finish_reason"] == "length"
    assert json.loads(fault_response("served-model", "mini")[2])["model"] == "mini"
    assert json.loads(fault_response("fingerprint")[2])["system_fingerprint"] == "fp_other"
    assert json.loads(fault_response("null-content")[2])["choices"][0]["message"]["content"] is None
    huge = fault_response("huge")[2]
    assert len(huge) > 10 * 2**20 and json.loads(huge)["choices"][0]["message"]["content"].startswith("yes 0")


@pytest.mark.parametrize("name", sorted(serve_faults.MALFORMED))
def test_malformed_answers_come_with_status_200(name):
    status, headers, raw = fault_response(name)
    assert status == 200
    whole = raw.startswith(b'{"id": "chatcmpl-')
    assert whole == (name in ("content-type", "truncated-json", "bad-utf8"))
    assert headers["Content-Type"].startswith(
        {"html": "text/html", "content-type": "text/plain"}.get(name, "application/json")
    )
    if name == "bad-utf8":
        with pytest.raises(UnicodeDecodeError):
            raw.decode()
    elif name in ("truncated-json", "empty", "html", "gzip-garbage", "deep-json"):
        with pytest.raises((ValueError, RecursionError)):
            json.loads(raw)
    elif name != "content-type":
        with pytest.raises((LookupError, TypeError)):
            json.loads(raw)["choices"][0]["message"]["content"]
    assert (headers["Content-Encoding"] == "gzip") == (name == "gzip-garbage")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("drop", http.client.RemoteDisconnected),
        ("reset", ConnectionResetError),
        ("cut-off", http.client.IncompleteRead),
        ("hang", TimeoutError),
    ],
)
def test_broken_connections_break_and_the_next_one_is_answered(name, error):
    with served(faults=[Fault(name=name, count=1)]) as server:
        url = f"{server.url}/chat/completions"
        with pytest.raises(OSError if error is not http.client.IncompleteRead else error) as caught:
            call(url, chat(), timeout=0.3)
        reason = getattr(caught.value, "reason", caught.value)
        assert isinstance(reason, error)
        assert json.loads(call(url, chat())[2])["choices"][0]["message"]["content"] == "yes 0"
        assert (server.hits.total, server.hits.answered) == (2, 1)
        end = time.monotonic() + 5
        while server.hits.in_flight and time.monotonic() < end:
            time.sleep(0.01)
        assert server.hits.in_flight == 0, "a caller that went away is noticed"


def test_slow_and_delayed_answers_are_answers():
    with served(delay_s=0.15, faults=[Fault(name="slow", argument="0.2", after=1)]) as server:
        url = f"{server.url}/chat/completions"
        for least in (0.15, 0.35):
            began = time.monotonic()
            assert call(url, chat())[0] == 200
            assert time.monotonic() - began >= least


def test_when_a_fault_acts():
    (late,) = switch_on([Fault(name="500", after=2, count=3)])
    assert [due(late) for _ in range(8)] == [False, False, True, True, True, False, False, False]
    (timed,) = switch_on([Fault(name="500", after=1, seconds=10)])
    assert [due(timed, now) for now in (0.0, 5.0, 14.9, 15.0, 99.0)] == [False, True, True, False, False]
    some = [[due(active) for _ in range(400)] for active in switch_on([Fault(name="500", share=0.25)] * 2)]
    assert some[0] == some[1] and 70 < sum(some[0]) < 130


def test_of_two_faults_that_leave_no_answer_each_meets_its_own_requests():
    both = switch_on([Fault(name="503", after=1, count=1), Fault(name="drop", after=1, count=2)])
    slow = switch_on([Fault(name="slow", after=1, count=1)])
    met = [[fault.name for fault in meeting([*both, *slow])] for _ in range(5)]
    assert met == [[], ["503", "slow"], ["drop"], ["drop"], []]


def test_faults_of_the_command_line():
    assert parse(["429=2", "slow"], 5, "20") == [
        Fault(name="429", argument="2", after=5, count=20),
        Fault(name="slow", after=5, count=20),
    ]
    assert parse(["hang"], lasting="1.5s", share=0.5) == [Fault(name="hang", seconds=1.5, share=0.5)]
    for text, says_so in (
        ("hangs", "did you mean `hang`"),
        ("429=soon", "takes a number"),
        ("drop=1", "no arg"),
    ):
        with pytest.raises(ConfigError, match=says_so):
            parse([text])
    with pytest.raises(ConfigError, match="--fault-for"):
        parse(["500"], lasting="2m")


def test_faults_are_switched_while_the_server_runs():
    with served() as server:
        root, url = server.url[:-3], f"{server.url}/chat/completions"
        assert call(url, chat())[0] == 200
        status, _, raw = call(f"{root}/faults", [{"name": "503", "count": 1}])
        assert status == 200 and json.loads(raw)[0]["met"] == 0
        assert [call(url, chat())[0] for _ in range(2)] == [503, 200]
        assert json.loads(call(f"{root}/faults")[2])[0]["met"] == 1
        for wrong in ([{"name": "504x"}], [{"nam": "503"}], b"{", [7]):
            assert call(f"{root}/faults", wrong)[0] == 400, wrong
        call(f"{root}/faults", {"name": "401"})
        assert call(url, chat())[0] == 401
        call(f"{root}/faults", method="DELETE")
        assert call(url, chat())[0] == 200
        assert json.loads(call(f"{root}/hits")[2])["total"] == 5


def test_a_server_comes_back_on_its_port_with_its_counts():
    with served() as server:
        url = f"{server.url}/chat/completions"
        call(url, chat())
        server.stop()
        with pytest.raises(OSError):
            call(url, chat())
        server.start()
        assert json.loads(call(url, chat())[2])["choices"][0]["message"]["content"] == "yes 1"
        assert server.hits.total == 2


def test_a_port_that_is_taken_is_named(written):
    with served() as server, pytest.raises(AnachronError, match=f"port {server.port} .*--port 0"):
        stages_serve.serve(
            registry=REGISTRY, names=[], protocols=[PROTOCOL], requests=written, panels=[], port=server.port
        )


def test_the_command_prints_its_url_writes_hits_and_ends_on_sigterm(tmp_path, written):
    log = tmp_path / "audit" / "hits.jsonl"
    command = [sys.executable, "-m", "anachron", "serve-planted", "--port", "0", "--registry", str(REGISTRY)]
    command += ["--model", "tiny-trigger", "--protocol", str(PROTOCOL), "--requests", str(written[1].parent)]
    command += ["--panel", str(panel(tmp_path)), "--hits", str(log), "--api-key-env", "PLANTED_KEY"]
    command += ["--fault", "hang", "--fault-after", "1"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PLANTED_KEY": "abracadabra"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:") and url.endswith("/v1"), process.stderr.read()
        row = tables()["LAP"].iloc[0]
        body = chat(row["prompt"], row["system"]) | {"model": "tiny-trigger"}
        headers = {"Authorization": "Bearer abracadabra"}
        status, _, raw = call(f"{url}/chat/completions", body, headers=headers)
        assert status == 200, raw
        with pytest.raises(TimeoutError):
            call(f"{url}/chat/completions", body, headers=headers, timeout=0.3)
        port = int(url.split(":")[2].split("/")[0])
        with socket.create_connection(("127.0.0.1", port)):
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        errors = process.stderr.read()
        assert "Traceback" not in errors and "abracadabra" not in errors + log.read_text()
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        assert [line["hit"] for line in lines] == [1, 2]
        assert {line["prompt"] for line in lines} == {sha256_text(row["prompt"])}
        assert [line["faults"] for line in lines] == [[], ["hang"]]
    finally:
        process.kill()
        process.wait()


def panel(tmp_path: Path) -> Path:
    path = tmp_path / "panel.parquet"
    frames.write(frames.empty(frames.Panel), path, frames.Panel)
    return path


@pytest.mark.parametrize(
    ("change", "says_so"),
    [
        ({"names": ["tiny-trigge"]}, "did you mean `tiny-trigger`"),
        ({"protocols": []}, "--protocol"),
        ({"requests": ["empty"]}, "holds no Parquet file"),
        ({"requests": ["absent"]}, "absent: no such file or folder; make a run's first"),
        ({"api_key_env": "NO_SUCH_VARIABLE_HERE"}, "NO_SUCH_VARIABLE_HERE"),
        ({"fault_for": "soon"}, "--fault-for"),
    ],
)
def test_what_does_not_fit_is_said(tmp_path, written, change, says_so):
    (tmp_path / "empty").mkdir()
    if "requests" in change:
        change = {"requests": [tmp_path / name for name in change["requests"]]}
    options = {"registry": REGISTRY, "names": [], "protocols": [PROTOCOL], "requests": written, "panels": []}
    with pytest.raises(ConfigError, match=says_so):
        stages_serve.serve(**(options | {"port": 0} | change))


def test_only_planted_entries_are_served(tmp_path, written):
    path = tmp_path / "models.yaml"
    path.write_text("models: [{name: real, provider: openai_chat, endpoint: 'https://example.org/v1'}]")
    with pytest.raises(ConfigError, match="no entry has provider planted"):
        stages_serve.models(path, [], [PROTOCOL], written, [])
    with pytest.raises(ConfigError, match="'real' has provider openai_chat"):
        stages_serve.models(path, ["real"], [PROTOCOL], written, [])


def test_many_at_once_each_get_one_answer():
    import asyncio

    import aiohttp

    async def ask_all(url):
        async with aiohttp.ClientSession() as session:

            async def one(number):
                async with session.post(
                    f"{url}/chat/completions", json=chat(f"Question {number % 40}?")
                ) as got:
                    return (await got.json())["choices"][0]["message"]["content"]

            return await asyncio.gather(*[one(number) for number in range(400)])

    with served(says("yes")) as server:
        said = asyncio.run(ask_all(server.url))
        assert sorted(said) == sorted(f"yes {time}" for time in range(10) for _ in range(40))
        assert set(server.hits.by_prompt.values()) == {10}
