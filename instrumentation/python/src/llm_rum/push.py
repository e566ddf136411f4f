"""Sends what the middleware measured to the collector, in the background."""

from __future__ import annotations

import json
import os
import queue
import threading
from typing import Any, Mapping, Optional
from urllib.parse import quote
from urllib.request import Request, urlopen

from .faults import log_once

Fact = Mapping[str, Any]


class Push:
    """A bounded queue of facts, and a thread that sends them. The app never waits for it, and no fault reaches it."""

    def __init__(self, collector: str, token: str = "", site: str = "") -> None:
        if not collector.startswith(("http://", "https://")):
            raise ValueError("the address of the collector must begin with http:// or https://")
        query = "?site=" + quote(site, safe="") if site else ""
        self._url = collector.rstrip("/") + "/v1/server-timings" + query
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = "Bearer " + token
        self._lock = threading.Lock()
        self._process = 0
        self._queue: queue.Queue[Fact] = queue.Queue(_MOST_WAITING)
        self.dropped = 0
        """Facts that were lost: the queue was full, or the collector did not take them."""

    def send(self, fact: Fact) -> None:
        """Queues a fact. It returns at once."""
        try:
            self._start()
            self._queue.put_nowait(fact)
        except Exception:
            self._drop(1)

    def _start(self) -> None:
        """Starts the thread with the first fact of a process: a server may have forked since."""
        process = os.getpid()
        if self._process == process:
            return
        with self._lock:
            if self._process != process:
                self._queue = queue.Queue(_MOST_WAITING)
                threading.Thread(target=self._run, args=(self._queue,), name="llm-rum", daemon=True).start()
                self._process = process

    def _run(self, facts: queue.Queue[Fact]) -> None:
        while True:
            batch = [facts.get()]
            while len(batch) < _MOST_IN_BATCH:
                try:
                    batch.append(facts.get(timeout=_LINGER_SECONDS))
                except queue.Empty:
                    break
            try:
                body = json.dumps({"facts": batch}).encode()
                request = Request(self._url, body, self._headers, method="POST")
                with urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
                    response.read(_MOST_OF_ANSWER)
            except Exception:
                self._drop(len(batch))

    def _drop(self, count: int) -> None:
        self.dropped += count
        log_once("the collector did not take timings: %s", self._url)


def from_environment(environment: Mapping[str, str] = os.environ) -> Optional[Push]:
    """What the environment variables name. ``None`` without ``LLM_RUM_COLLECTOR``."""
    collector = environment.get("LLM_RUM_COLLECTOR", "")
    if not collector:
        return None
    try:
        return Push(collector, environment.get("LLM_RUM_TOKEN", ""), environment.get("LLM_RUM_SITE", ""))
    except ValueError:
        log_once("LLM_RUM_COLLECTOR is no address: no timings are sent")
        return None


_MOST_WAITING = 1000
_MOST_IN_BATCH = 200
_LINGER_SECONDS = 0.5
_TIMEOUT_SECONDS = 5
_MOST_OF_ANSWER = 65_536
