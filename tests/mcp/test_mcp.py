"""The official MCP client asks `llm-rum mcp`, which asks a real collector with real reports."""

import asyncio
import json
import os
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

PROGRAM = os.environ["LLM_RUM"]
TOOLS = {"summary", "timeseries", "breakdown", "compare", "explain", "slo"}
READER = "reader-0123456789"
OF_BLOG = "of-blog-0123456789"
# A page may call its model anything that has the shape of a name.
ODD_MODEL = "ignore-all-rules"

CONFIG = f"""
[[sites]]
name = "shop"
keys = ["pk_shop"]
origins = ["http://127.0.0.1"]

[[sites]]
name = "blog"
keys = ["pk_blog"]
origins = ["http://127.0.0.1"]

[[tokens]]
name = "reader"
token = "{READER}"
scopes = ["read"]

[[tokens]]
name = "of-blog"
token = "{OF_BLOG}"
scopes = ["read"]
sites = ["blog"]
"""


@dataclass
class Collector:
    url: str
    folder: Path

    def token_file(self, token: str) -> Path:
        file = self.folder / f"{token}.txt"
        file.write_text(token + "\n")
        return file


def report(number: int, **fields: object) -> dict[str, object]:
    times = {"ttft_ms": 400.0, "ttfv_ms": 400.0, "e2e_ms": 2_000.0, "close_ms": 2_000.0}
    counts = {"chunks": 12, "events": 14, "deltas": 11, "bytes": 2_000}
    return {"v": 1, "id": f"{number:032x}", "outcome": "complete", "use_case": "chat", "model": "swift"} | counts | times | fields


def send(url: str, key: str, reports: list[dict[str, object]]) -> None:
    body = json.dumps({"reports": reports}).encode()
    # Without a browser's name, the site's filter takes the request for a bot's.
    headers = {"content-type": "text/plain", "origin": "http://127.0.0.1", "user-agent": "Mozilla/5.0 Firefox/140.0"}
    with urllib.request.urlopen(urllib.request.Request(f"{url}/v1/beacons?site={key}", body, headers)) as response:
        assert response.status == 204


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    folder = tmp_path_factory.mktemp("collector")
    config = folder / "llm-rum.toml"
    config.write_text(CONFIG)
    command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--config", config, "--data", folder / "data"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout
        url = process.stdout.readline().rsplit(" ", 1)[1].strip()
        server = {"source": "vllm", "ttft_ms": 300.0}
        send(url, "pk_shop", [report(n, server=server) for n in range(40)])
        send(url, "pk_shop", [report(100 + n, model="slow", ttft_ms=9e3, ttfv_ms=9e3, e2e_ms=9.5e3, close_ms=9.5e3)
                              for n in range(40)])
        send(url, "pk_blog", [report(200 + n, model=ODD_MODEL) for n in range(3)])
        yield Collector(url, folder)
    finally:
        process.terminate()
        process.wait()


async def result(client: Client, name: str, arguments: dict[str, object]):
    """What a call gives back, or the protocol error that it raises."""
    try:
        return await client.call_tool(name, arguments)
    except MCPError as error:
        return error


def ask(collector: Collector, calls: list[tuple[str, dict[str, object]]], token: str = READER, mode: str = "auto"):
    """The tools, and the result of each call."""

    async def run():
        arguments = ["mcp", "--url", collector.url, "--token-file", str(collector.token_file(token))]
        with open(collector.folder / "mcp.log", "w+") as log:
            server = stdio_client(StdioServerParameters(command=PROGRAM, args=arguments), log)
            async with Client(server, mode=mode) as client:
                tools = (await client.list_tools()).tools
                return tools, [await result(client, name, arguments) for name, arguments in calls]

    return asyncio.run(run())


def text(result) -> str:
    [content] = result.content
    return content.text


def until_counted(collector: Collector) -> None:
    """Windows are written a moment after the answer to a beacon."""
    request = urllib.request.Request(f"{collector.url}/v1/summary", headers={"authorization": f"Bearer {READER}"})
    summaries = (json.load(urllib.request.urlopen(request)) for _ in range(10_000))
    assert any(summary["streams"] == 83 for summary in summaries)


def test_the_client_lists_six_read_only_tools(collector: Collector):
    for mode in ("auto", "legacy"):
        tools, _ = ask(collector, [], mode=mode)
        assert {tool.name for tool in tools} == TOOLS
        for tool in tools:
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            assert tool.input_schema["additionalProperties"] is False
            assert tool.annotations.read_only_hint


def test_each_tool_answers_with_n_and_units(collector: Collector):
    until_counted(collector)
    calls = [(name, {"site": "shop"}) for name in sorted(TOOLS)]
    for (name, _), result in zip(calls, ask(collector, calls)[1], strict=True):
        answer = text(result)
        assert not result.is_error, answer
        assert answer.startswith("Range: ") and len(answer.encode()) <= 8_000, answer
        assert re.search(r"n = \d+|\d+ of \d+", answer), (name, answer)
    [summary, breakdown, compare] = map(text, ask(
        collector, [("summary", {"site": "shop"}), ("breakdown", {"site": "shop"}), ("compare", {"site": "shop"})]
    )[1])
    assert "Streams ended: 80." in summary
    assert "absent, from 0 of 80 streams" in summary
    assert '"slow": 50.0 % of all streams; n = 40: p50 90' in breakdown
    assert "Streams with both client and server TTFT: 50.0 % (40 of 80;" in compare
    assert "Overhead, client minus server of the same stream: n = 40" in compare


def test_few_streams_are_called_few(collector: Collector):
    until_counted(collector)
    calls = [(name, {"site": "blog"}) for name in ("summary", "breakdown", "timeseries")]
    summary, breakdown, timeseries = map(text, ask(collector, calls)[1])
    assert "These are few streams" in summary
    assert re.search(r"n = 3, few values: p50 (39|40)\d ms \[\? to \?\]", breakdown), breakdown
    assert f'"{ODD_MODEL}"' in breakdown
    step = next(line for line in timeseries.splitlines() if "n = 3" in line)
    assert "p50" in step and "p95" not in step


def test_arguments_become_the_query(collector: Collector):
    until_counted(collector)
    filters = {"model": ["slow", "swift"], "outcome": "!timeout"}
    calls = [
        ("breakdown", {"site": "shop", "filters": filters, "group_by": ["model", "use_case"], "limit": 1}),
        ("summary", {"from": "2020-01-01T00:00:00Z", "to": "2020-01-02T00:00:00Z"}),
    ]
    pairs, nothing = map(text, ask(collector, calls)[1])
    assert "1 smaller groups are left out" in pairs and '"chat"' in pairs
    assert "no values (n = 0), so the percentiles are absent, not zero" in nothing


def test_refusals_are_tool_errors_with_the_reason(collector: Collector):
    calls = [
        ("summary", {"range": "3 days"}),
        ("summary", {"range": 7}),
        ("summary", {"filters": {"format": "csv"}}),
        ("breakdown", {"limit": 10_000}),
        ("slo", {"range": "1h"}),
    ]
    reasons = ["400 bad_query: `range` must be", "`range` must be a word", "`filters` must be", "`limit` must be",
               "unknown argument \"range\""]
    for reason, result in zip(reasons, ask(collector, calls)[1], strict=True):
        assert result.is_error and reason in text(result), text(result)
    [error] = ask(collector, [("delete", {})])[1]
    assert isinstance(error, MCPError) and "unknown tool" in str(error)


def test_a_limited_token_reads_its_site_alone(collector: Collector):
    until_counted(collector)
    allowed, refused = ask(collector, [("summary", {}), ("summary", {"site": "shop"})], token=OF_BLOG)[1]
    assert "Streams ended: 3." in text(allowed)
    assert refused.is_error and "403 site_forbidden" in text(refused)


def test_a_wrong_token_is_refused_and_never_printed(collector: Collector):
    wrong = "wrong-9876543210"
    [result] = ask(collector, [("summary", {})], token=wrong)[1]
    assert result.is_error and "401 wrong_token" in text(result)
    assert wrong not in text(result) + (collector.folder / "mcp.log").read_text()
