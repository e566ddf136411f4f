"""docs/server-timing-fastapi.md as a stranger runs it: its own text, in an empty folder, and a browser."""

import shlex
from pathlib import Path

from conftest import PREFILL_S, PROGRAM, UpstreamServer, free_port
from recipe import ROOT, ask_in_browser, blocks, empty_folder, running, stream_with_layer

PAGE = "server-timing-fastapi.md"


def test_the_page_runs_from_its_own_text(tmp_path: Path, upstream: UpstreamServer) -> None:
    folder = empty_folder(tmp_path)
    collector_port, port = free_port(), free_port()
    [config], [main] = blocks(PAGE, "toml"), blocks(PAGE, "python")
    serve, start = blocks(PAGE, "sh")
    serve = serve.replace("../llm-rum/target/release/llm-rum", shlex.quote(PROGRAM)).rstrip()
    start = start.replace("127.0.0.1:8787", f"127.0.0.1:{collector_port}").replace("--port 8000", f"--port {port}")
    (folder / "llm-rum.toml").write_text(config)
    (folder / "main.py").write_text(main.replace("127.0.0.1:8787", f"127.0.0.1:{collector_port}"))
    environment = {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": upstream.url,
        "PIP_QUIET": "1",
        # The versions that are tried. The page has none.
        "PIP_CONSTRAINT": str(ROOT / "instrumentation/python/requirements-test.txt"),
    }
    with (
        running(f"{serve} --listen 127.0.0.1:{collector_port}", folder, collector_port, {}) as collector,
        running(start, folder, port, environment) as url,
    ):
        assert ask_in_browser(url, "/chat") == "PLANTED-7f3a and more"
        report = stream_with_layer(collector, "app")
    timing = report["layers"]["app"]
    assert (timing["source"], timing["ended"], timing["output_tokens"]) == ("llm-rum-python", "complete", 3)
    # The same time came in the stream.
    assert report["server"]["ttft_ms"] == timing["ttft_ms"]
    assert report["ttft_ms"] >= timing["ttft_ms"] >= PREFILL_S * 1e3
