"""Reads five streams with a client that one of the products traces, and prints their ids.

Usage: traced_client.py PRODUCT UPSTREAM. Where the spans go is in OpenTelemetry's own variables."""

import asyncio
import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

STREAMS = 5
PROMPT = "PLANTED-7f3a"


def with_openai(upstream: str) -> list[str]:
    from openai import OpenAI

    client = OpenAI(base_url=upstream, api_key="none", max_retries=0)
    ids = []
    for _ in range(STREAMS):
        messages = [{"role": "user", "content": PROMPT}]
        stream = client.chat.completions.create(model="scripted", messages=messages, stream=True)
        ids += {chunk.id for chunk in stream}
    return ids


async def with_pydantic_ai(upstream: str) -> list[str]:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    Agent.instrument_all()
    agent = Agent(OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=upstream, api_key="none")))
    ids = []
    for _ in range(STREAMS):
        async with agent.run_stream(PROMPT) as result:
            await result.get_output()
            ids.append(result.response.provider_response_id)
    return ids


def read(product: str, upstream: str) -> list[str]:
    match product:
        case "genai-openai":
            from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

            OpenAIInstrumentor().instrument()
            return with_openai(upstream)
        case "pydantic-ai":
            return asyncio.run(with_pydantic_ai(upstream))
    raise SystemExit(f"unknown product {product}")


if __name__ == "__main__":
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    print("\n".join(read(*sys.argv[1:])))
    provider.shutdown()
