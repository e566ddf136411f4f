"""The real proxy of LiteLLM sends its batches to a collector, as docs/server-timing-push.md says."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import BACKEND, DECODE_S, PLANTED, PREFILL_S, Collector, UpstreamServer, free_port, until

KEY = "sk-0123456789"


@pytest.fixture
def proxy(collector: Collector, upstream: UpstreamServer, tmp_path: Path) -> Iterator[str]:
    def model(name: str) -> dict[str, object]:
        to = {"model": f"openai/{name}", "api_base": upstream.url, "api_key": "none", "max_retries": 0}
        return {"model_name": name, "litellm_params": to}

    config = tmp_path / "litellm.yaml"
    # JSON is YAML.
    config.write_text(json.dumps({
        "model_list": [model("scripted"), model("broken")],
        "litellm_settings": {
            "callbacks": ["generic_api"],
            "cache": True,
            "cache_params": {"type": "local"},
            "num_retries": 0,
        },
        "general_settings": {"master_key": KEY},
    }))
    port = free_port()
    environment = os.environ | {
        "GENERIC_LOGGER_ENDPOINT": f"{collector.url}/v1/server-timings/litellm",
        "GENERIC_LOGGER_HEADERS": f"Authorization=Bearer {BACKEND}",
        "DEFAULT_FLUSH_INTERVAL_SECONDS": "1",
        # Without it the proxy asks the internet for prices before it starts.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    program = Path(sys.executable).with_name("litellm")
    command = [program, "--config", config, "--host", "127.0.0.1", "--port", str(port)]
    log = tmp_path / "litellm.log"
    with log.open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, cwd=tmp_path)
    url = f"http://127.0.0.1:{port}"

    def ready() -> bool | None:
        assert process.poll() is None, log.read_text()[-2_000:]
        try:
            with urllib.request.urlopen(f"{url}/health/liveliness") as answer:
                return answer.status == 200
        except OSError:
            return None

    try:
        until(ready, "proxy")
        yield url
    finally:
        process.terminate()
        process.wait()


def ask(proxy: str, model: str = "scripted", prompt: str = "one", **options: object) -> str:
    """The answer as the proxy's client gets it: a stream, unless the options say otherwise."""
    messages = [{"role": "user", "content": f"{PLANTED} {prompt}"}]
    asked = {"model": model, "stream": True, "messages": messages} | options
    headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
    request = urllib.request.Request(f"{proxy}/v1/chat/completions", json.dumps(asked).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


def ids(stream: str) -> set[str]:
    events = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: {")]
    return {json.loads(event)["id"] for event in events}


def test_the_proxy_and_the_browser_name_the_same_streams(proxy: str, collector: Collector) -> None:
    streams = []
    for number in range(5):
        [identity] = ids(ask(proxy, prompt=f"number {number}"))
        streams.append(collector.report(identity))
    for stream in streams:
        timing = collector.layer(stream, "gateway")
        assert (timing["source"], timing["ended"]) == ("litellm", "complete")
        # The proxy adds its own time, so there is no upper limit.
        assert timing["ttft_ms"] >= PREFILL_S * 1e3
        assert timing["duration_ms"] >= (PREFILL_S + DECODE_S) * 1e3 > timing["duration_ms"] - timing["ttft_ms"]
    print(f"litellm: {len(streams)} of {len(streams)} matched")


def test_a_cached_answer_leaves_the_first_its_own_time(proxy: str, collector: Collector) -> None:
    first, second = (ids(ask(proxy, prompt="the same")) for _ in range(2))
    # The upstream gives each answer an id of its own: the second came from the proxy's cache.
    assert first == second
    [identity] = first
    [later] = ids(ask(proxy, prompt="another"))
    # Batches keep their order: all facts about the two are there.
    collector.layer(collector.report(later), "gateway")
    timing = collector.layer(collector.report(identity), "gateway")
    assert (timing["ended"], timing.get("cached")) == ("complete", None)
    assert timing["ttft_ms"] >= PREFILL_S * 1e3


def test_a_cached_answer_is_in_no_percentile(proxy: str, collector: Collector) -> None:
    # The collector hears of the first answer nothing, as if it were hours old.
    ask(proxy, prompt="the same", **{"no-log": True})
    [identity] = ids(ask(proxy, prompt="the same"))
    timing = collector.layer(collector.report(identity), "gateway")
    assert timing["cached"] is True
    assert timing["ttft_ms"] < PREFILL_S * 1e3

    def counted() -> dict | None:
        answer = json.loads(collector.get("/v1/server-layers"))
        gateway = next(layer for layer in answer["layers"] if layer["layer"] == "gateway")
        return gateway if gateway["without"]["no_fact"] + gateway["without"]["may_come"] < answer["streams"] else None

    gateway = until(counted, "kept stream")
    assert (gateway["sent"], gateway["without"]["no_ttft"]) == (0, 1)


def test_an_answer_in_one_piece_has_no_first_token(proxy: str, collector: Collector) -> None:
    identity = json.loads(ask(proxy, stream=False))["id"]
    timing = collector.layer(collector.report(identity), "gateway")
    # LiteLLM writes the end of the answer as its first chunk.
    assert "ttft_ms" not in timing
    assert timing["duration_ms"] >= PREFILL_S * 1e3


def test_a_failure_is_taken_without_its_text(proxy: str, collector: Collector) -> None:
    with pytest.raises(urllib.error.HTTPError):
        ask(proxy, "broken")
    [identity] = ids(ask(proxy))
    # Batches keep their order: the failure came with this answer, or before it.
    collector.layer(collector.report(identity), "gateway")
    assert collector.facts("refused") == 0
    assert collector.files_with(identity)
    assert collector.files_with(PLANTED) == []
