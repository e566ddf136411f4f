"""A FastAPI chat with events of its own, and the page that reads them.

COLLECTOR=https://rum.example uvicorn fastapi_chat:app --port 8000
"""

import asyncio
import os
from collections.abc import AsyncIterator

from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel

# Says which events are text, the end and an error. Without it the probe finds that out by their structure.
FORMAT = '[{"url":"/chat","text":"text if @event=token","end":"@event=done"}]'
PROBE = f"""<script src="{os.environ.get("COLLECTOR")}/llm-rum.js" data-site="demo" data-formats='{FORMAT}'></script>"""

PAGE = """<form><input name="question"><button>Ask</button></form>
<p data-llm-output></p>
<script>
  async function ask(question) {
    const headers = { "content-type": "application/json" };
    const response = await fetch("/chat", { method: "POST", headers, body: JSON.stringify({ question }) });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ; ) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = (rest + value).split("\\n\\n");
      rest = events.pop();
      for (const event of events) {
        const [, name] = event.match(/^event: (.*)$/m) ?? [];
        const [, data] = event.match(/^data: (.*)$/m) ?? [];
        if (name == "token") document.querySelector("p").append(JSON.parse(data).text);
        if (name == "error") document.querySelector("p").append(` Error: ${JSON.parse(data).message}`);
      }
    }
  }
  document.querySelector("form").onsubmit = (event) => {
    event.preventDefault();
    ask(event.target.question.value);
  };
</script>"""

app = FastAPI()


class Request(BaseModel):
    question: str


async def model(question: str) -> AsyncIterator[str]:
    """Stands for your model."""
    for word in ["The", " moon", " is", " far", " away."]:
        await asyncio.sleep(0.05)
        yield word
    if not question:
        raise ValueError("nothing was asked")


@app.get("/")
def page() -> HTMLResponse:
    return HTMLResponse("<!doctype html>" + (PROBE if "COLLECTOR" in os.environ else "") + PAGE)


@app.post("/chat", response_class=EventSourceResponse)
async def chat(request: Request) -> AsyncIterator[ServerSentEvent]:
    try:
        async for text in model(request.question):
            yield ServerSentEvent(event="token", data={"text": text})
        yield ServerSentEvent(event="done", data={})
    except ValueError as error:
        # An event of this name is an error in every format.
        yield ServerSentEvent(event="error", data={"message": str(error)})
