"""A chat as its authors write it with Gradio: a generator, and the probe in the page's head. It answers as scripted."""

import os
import time
from collections.abc import Iterator

import gradio as gr

PREFILL_S, WORD_S, WORDS = 0.3, 0.04, 12
COLLECTOR = os.environ["COLLECTOR"]
PROBE = f"""
<script async src="{COLLECTOR}/llm-rum.js" data-site="pk_chat"></script>
<script async src="{COLLECTOR}/llm-rum-more.js" data-with="eventSource"></script>
"""


def reply(message: str, history: list[dict[str, object]]) -> Iterator[str]:
    """Begins with `About` and the question, so that the wire shows whose answer it is."""
    if message == "fail":
        raise ValueError("broken before the first word")
    time.sleep(PREFILL_S)
    text = f"About {message}: "
    yield text
    for number in range(1, 500 if message == "endless" else WORDS):
        time.sleep(WORD_S)
        if message == "break" and number == 3:
            raise gr.Error("broken after three words")
        text += f"word{number} "
        yield text


if __name__ == "__main__":
    gr.ChatInterface(reply, api_name="reply").launch(head=PROBE)
