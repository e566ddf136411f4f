"""docs/server-timing-opentelemetry.md as a stranger runs it: its own text, in an empty folder, and a browser."""

from pathlib import Path

from conftest import DECODE_S, PLANTED, PREFILL_S, UpstreamServer
from recipe import ROOT, Recipe, ask_in_browser


def test_the_page_runs_from_its_own_text(tmp_path: Path, upstream: UpstreamServer) -> None:
    recipe = Recipe("server-timing-opentelemetry.md", tmp_path, "8000")
    recipe.write("main.py", recipe.block("python"))
    tried = ["tests/products/requirements-opentelemetry.txt", "instrumentation/python/requirements-test.txt"]
    environment = {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": upstream.url,
        # The versions that are tried. The page has none.
        "PIP_CONSTRAINT": " ".join(str(ROOT / versions) for versions in tried),
        "PIP_QUIET": "1",
    }
    with recipe.collector() as collector, recipe.server("uvicorn", "8000", environment) as url:
        text, report = ask_in_browser(url, "/chat", collector, "model_call")
    assert text == f"{PLANTED} and more"
    timing = report["layers"]["model_call"]
    assert len(timing["trace_id"]) == 32
    assert report["ttft_ms"] >= timing["ttft_ms"] >= PREFILL_S * 1e3
    assert timing["duration_ms"] >= (PREFILL_S + DECODE_S) * 1e3
