"""Real packages trace the client of a backend, and their exporter sends the spans to a collector."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BACKEND, DECODE_S, PLANTED, PREFILL_S, Collector, UpstreamServer

CLIENT = Path(__file__).with_name("traced_client.py")
PRODUCTS = ["genai-openai", "pydantic-ai"]


@pytest.mark.parametrize("product", PRODUCTS)
def test_spans_reach_their_streams(product: str, collector: Collector, upstream: UpstreamServer) -> None:
    environment = os.environ | {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collector.url}/v1/traces",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": f"Authorization=Bearer {BACKEND}",
        # The packages write prompts and answers into their spans.
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_AND_EVENT",
    }
    client = [sys.executable, CLIENT, product, upstream.url]
    ids = subprocess.run(client, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    assert len(set(ids)) == len(ids) == 5
    for stream in [collector.report(identity) for identity in ids]:
        timing = collector.layer(stream, "model_call")
        assert timing["duration_ms"] >= (PREFILL_S + DECODE_S) * 1e3
        assert timing["ttft_ms"] >= PREFILL_S * 1e3
    print(f"{product}: {len(ids)} of {len(ids)} matched")
    assert collector.files_with(ids[0])
    assert collector.files_with(PLANTED) == []
