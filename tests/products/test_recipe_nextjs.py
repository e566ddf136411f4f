"""docs/server-timing-nextjs.md as a stranger runs it: its own text, in an empty folder, and a browser."""

import re
from pathlib import Path

from conftest import PREFILL_S, UpstreamServer
from recipe import Recipe, ask_in_browser

# The versions that are tried. The page has none.
TRIED_ON = "2026-11-28"


def test_the_page_runs_from_its_own_text(tmp_path: Path, upstream: UpstreamServer) -> None:
    recipe = Recipe("server-timing-nextjs.md", tmp_path, "3000")
    for name, code in re.findall(r"^`(\S+\.js)`.*?:\n\n```js\n(.*?)^```", recipe.text, re.DOTALL | re.MULTILINE):
        recipe.write(name, code)
    environment = {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": upstream.url,
        "NEXT_TELEMETRY_DISABLED": "1",
        "npm_config_before": TRIED_ON,
        "npm_config_loglevel": "error",
    }
    with recipe.collector() as collector, recipe.server("next start", "3000", environment) as url:
        text, report = ask_in_browser(url, "/api/chat", collector)
    assert text == "PLANTED-7f3a and more"
    timing = report["layers"]["app"]
    assert (timing["source"], timing["ended"]) == ("llm-rum-server", "complete")
    # Without an id of a response, the stream is found by the id in the comment.
    assert "response_id" not in report
    assert report["server"]["ttft_ms"] == timing["ttft_ms"]
    assert report["ttft_ms"] >= timing["ttft_ms"] >= PREFILL_S * 1e3
