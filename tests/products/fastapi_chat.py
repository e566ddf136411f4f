"""A chat backend as its authors write it: FastAPI, the client of OpenAI, and our middleware. It logs what it took."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, StreamingResponse
from llm_rum import Middleware
from openai import AsyncOpenAI

APP_S = 0.12
PAGE = f"""<!doctype html><script src="{os.environ["COLLECTOR"]}/llm-rum.js" data-site="pk_chat"></script>"""

app = FastAPI()
app.add_middleware(Middleware)
model = AsyncOpenAI(base_url=os.environ["UPSTREAM"], api_key="none")


@app.get("/")
def page() -> HTMLResponse:
    return HTMLResponse(PAGE)


@app.post("/chat")
async def chat() -> StreamingResponse:
    arrival = time.perf_counter()

    async def events() -> AsyncIterator[str]:
        await asyncio.sleep(APP_S)
        called = time.perf_counter()
        messages = [{"role": "user", "content": "How far is the moon?"}]
        answer = await model.chat.completions.create(model="scripted", messages=messages, stream=True)
        first = None
        async for chunk in answer:
            if first is None and chunk.choices and chunk.choices[0].delta.content:
                first = time.perf_counter()
                log = {"id": chunk.id, "work_ms": (called - arrival) * 1e3, "ttft_ms": (first - arrival) * 1e3}
                with open(os.environ["LOG"], "a") as lines:
                    lines.write(json.dumps(log) + "\n")
            yield f"data: {chunk.model_dump_json()}\n\n"
        yield "data: [DONE]\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")
