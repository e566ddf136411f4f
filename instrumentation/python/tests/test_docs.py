"""The code in the guides runs as it stands there."""

from __future__ import annotations

import importlib
import inspect
import re
import shlex
from pathlib import Path
from typing import Any, Iterator

import pytest
from apps import fastapi_async
from servers import BROWSER, CURL, fetch, serve_asgi, serve_wsgi

FOLDER = Path(__file__).parents[1]
GUIDE = FOLDER.parents[1] / "docs/server-timing.md"
README = FOLDER / "README.md"
VLLM = FOLDER.parents[1] / "docs/server-timing-vllm.md"


def snippets(path: Path, language: str, word: str) -> list[str]:
    """Code in a language that has a word in it."""
    text = path.read_text(encoding="utf-8")
    fenced = re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    found = [code for code in fenced if word in code]
    assert found, f"{path.name} has no code with {word}"
    return found


def run(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "guide"}
    exec(compile(code, "snippet", "exec"), names)
    return names


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "mysite.settings")


def test_the_fastapi_guide_sends_comments() -> None:
    (code,) = snippets(GUIDE, "python", "FastAPI")
    with serve_asgi(run(code)["app"]) as url:
        answer = fetch(f"{url}/chat", BROWSER)
        assert [*answer.comments[0]] == ["ttft_ms"]
        assert answer.comments[1]["output_tokens"] == 2
        assert fetch(f"{url}/chat", CURL).body == answer.own_body


def test_the_fastapi_readme_wraps_an_app() -> None:
    (code,) = snippets(README, "python", "FastAPI")
    app = run(code)["app"]
    app.mount("/", fastapi_async())
    with serve_asgi(app) as url:
        assert len(fetch(f"{url}/chat", BROWSER).comments) == 2


@pytest.mark.parametrize("path", [GUIDE, README], ids=["guide", "readme"])
def test_the_django_guide_sends_comments(path: Path) -> None:
    (code,) = snippets(path, "python", "get_wsgi_application")
    with serve_wsgi(run(code)["application"]) as url:
        first, second = fetch(f"{url}/chat", BROWSER).comments
        assert (first["queue_ms"], second["output_tokens"]) == (40, 2)
        assert fetch(f"{url}/chat", CURL).comments == []


def test_the_django_readme_works_under_asgi() -> None:
    (code,) = snippets(README, "python", "get_asgi_application")
    with serve_asgi(run(code)["application"]) as url:
        first, second = fetch(f"{url}/async-chat", BROWSER).comments
        assert (first["queue_ms"], second["output_tokens"]) == (40, 2)
        assert fetch(f"{url}/async-chat", CURL).comments == []


@pytest.mark.parametrize("path", [GUIDE, README], ids=["guide", "readme"])
def test_the_flask_guide_sends_comments(path: Path) -> None:
    (code,) = snippets(path, "python", "Flask")
    app = run(code)["app"]

    @app.post("/chat")  # type: ignore[untyped-decorator]
    def chat() -> Any:
        def events() -> Iterator[str]:
            yield "data: A\n\n"

        return events(), {"content-type": "text/event-stream"}

    with serve_wsgi(app) as url:
        assert len(fetch(f"{url}/chat", BROWSER).comments) == 1
        assert fetch(f"{url}/chat", CURL).body == b"data: A\n\n"


@pytest.mark.parametrize("path", [GUIDE, README, VLLM], ids=["guide", "readme", "vllm"])
def test_the_vllm_option_names_a_class(path: Path) -> None:
    """vLLM imports the name. It adds a class as middleware and takes anything else for a function."""
    (command,) = snippets(path, "sh", "--middleware")
    words = shlex.split(command)
    module, name = words[words.index("--middleware") + 1].rsplit(".", 1)
    middleware: Any = getattr(importlib.import_module(module), name)
    app = fastapi_async()
    app.add_middleware(middleware)
    assert inspect.isclass(middleware)
    with serve_asgi(app) as url:
        assert len(fetch(f"{url}/chat", BROWSER).comments) == 2


def test_marks_in_the_readme_are_valid() -> None:
    for code in snippets(README, "python", "llm_rum.mark"):
        run("import llm_rum\n" + code)
