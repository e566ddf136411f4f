"""The contract, for the WSGI middleware."""

from __future__ import annotations

import time
from typing import Any, Iterator, Optional

import pytest
from contract import CASES, CLIENTS, AppFailure, Clock, Result, Step, check, cuts, method, response, steps
from llm_rum import Push, WsgiMiddleware, mark


@pytest.mark.parametrize("client", CLIENTS, ids=lambda it: it["name"])
@pytest.mark.parametrize("case", CASES, ids=lambda it: it["name"])
def test_each_client_gets_its_body(case: dict[str, Any], client: dict[str, Any]) -> None:
    check(case, client, steps(case), run(case, client, steps(case)))


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.get("cut_at_every_byte")], ids=lambda it: it["name"]
)
def test_any_cut_gives_the_same_body(case: dict[str, Any]) -> None:
    for sent in cuts(case):
        check(case, CLIENTS[0], sent, run(case, CLIENTS[0], sent))


def run(case: dict[str, Any], client: dict[str, Any], sent: list[Step], push: Optional[Push] = None) -> Result:
    clock = Clock()
    starts: list[tuple[str, list[tuple[str, str]]]] = []
    closed: list[float] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: object = None, /) -> Any:
        starts.append((status, headers))

    def body() -> Iterator[bytes]:
        try:
            for step in sent:
                clock.set_ms(step.at)
                if step.send is not None:
                    yield step.send
                elif step.mark is not None:
                    mark(**step.mark)
                elif step.fails:
                    raise AppFailure
                elif step.client_leaves:
                    # The server notices it when it sends something.
                    yield b""
        finally:
            closed.append(time.monotonic())

    def app(environ: Any, start: Any) -> Iterator[bytes]:
        status, headers = response(case)
        start(f"{status} Status", headers)
        return body()

    environ = {"REQUEST_METHOD": method(case, client)}
    environ.update({"HTTP_" + name.upper().replace("-", "_"): it for name, it in client["headers"].items()})
    result = WsgiMiddleware(app, clock=clock, push=push)(environ, start_response)
    chunks: list[bytes] = []
    error = None
    stays = len(sent) - any(step.client_leaves for step in sent)
    chunks_until_gone = sum(step.send is not None for step in sent[:stays])
    try:
        for chunk in result:
            if stays < len(sent) and len(chunks) == chunks_until_gone:
                break
            chunks.append(chunk)
    except AppFailure as failure:
        error = failure
    left = time.monotonic()
    result.close()  # type: ignore[attr-defined]
    assert closed and closed[0] - left < 0.1
    status, headers = starts[0]
    return Result(int(status[:3]), headers, chunks, error)
