"""docs/server-timing-fastapi.md as a stranger runs it: its own text, in an empty folder, and a browser."""

from pathlib import Path

from conftest import PREFILL_S, UpstreamServer
from recipe import ROOT, Recipe, ask_in_browser


def test_the_page_runs_from_its_own_text(tmp_path: Path, upstream: UpstreamServer) -> None:
    recipe = Recipe("server-timing-fastapi.md", tmp_path, "8000")
    recipe.write("main.py", recipe.block("python"))
    environment = {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": upstream.url,
        # The versions that are tried. The page has none.
        "PIP_CONSTRAINT": str(ROOT / "instrumentation/python/requirements-test.txt"),
        "PIP_QUIET": "1",
    }
    with recipe.collector() as collector, recipe.server("uvicorn", "8000", environment) as url:
        text, report = ask_in_browser(url, "/chat", collector)
    assert text == "PLANTED-7f3a and more"
    timing = report["layers"]["app"]
    assert (timing["source"], timing["ended"], timing["output_tokens"]) == ("llm-rum-python", "complete", 3)
    # The same time came in the stream.
    assert report["server"]["ttft_ms"] == timing["ttft_ms"]
    assert report["ttft_ms"] >= timing["ttft_ms"] >= PREFILL_S * 1e3
