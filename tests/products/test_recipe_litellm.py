"""docs/server-timing-litellm.md as a stranger runs it: its own text, in an empty folder, and a browser."""

from pathlib import Path

from conftest import DECODE_S, PLANTED, PREFILL_S, UpstreamServer
from recipe import ROOT, Recipe, ask_in_browser


def test_the_page_runs_from_its_own_text(tmp_path: Path, upstream: UpstreamServer) -> None:
    recipe = Recipe("server-timing-litellm.md", tmp_path, "4000", "8000")
    recipe.write("config.yaml", recipe.block("yaml", "model_list"))
    recipe.write("main.py", recipe.block("python"))
    environment = {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": upstream.url,
        # Without it the proxy asks the internet for prices before it starts.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        # The versions that are tried. The page has none.
        "PIP_CONSTRAINT": str(ROOT / "tests/products/requirements-litellm.txt"),
        "PIP_QUIET": "1",
    }
    with (
        recipe.collector() as collector,
        recipe.server("--config config.yaml", "4000", environment),
        recipe.server("uvicorn", "8000", {}) as url,
    ):
        text, report = ask_in_browser(url, "/chat", collector, "gateway")
    assert text == f"{PLANTED} and more"
    timing = report["layers"]["gateway"]
    assert (timing["source"], timing["ended"], timing["output_tokens"]) == ("litellm", "complete", 3)
    assert report["ttft_ms"] >= timing["ttft_ms"] >= PREFILL_S * 1e3
    assert timing["duration_ms"] >= (PREFILL_S + DECODE_S) * 1e3
