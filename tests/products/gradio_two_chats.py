"""A page of Gradio with two chats side by side, which answer at the same time."""

import os
import time
from collections.abc import Iterator
from functools import partial

import gradio as gr

COLLECTOR = os.environ["COLLECTOR"]
PROBE = (
    f'<script async src="{COLLECTOR}/llm-rum.js" data-site="pk_chat"></script>'
    f'<script async src="{COLLECTOR}/llm-rum-more.js" data-with="gradio"></script>'
)
# Names of the chats, and how many pieces their answers have.
CHATS = {"left": 12, "right": 6}


def reply(name: str, pieces: int, history: list[dict]) -> Iterator[list[dict]]:
    text = ""
    for number in range(pieces):
        text += f"word{number} " if number else f"About {name}: "
        yield [*history, {"role": "user", "content": name}, {"role": "assistant", "content": text}]
        time.sleep(0.05)


with gr.Blocks() as page, gr.Row():
    for name, pieces in CHATS.items():
        with gr.Column():
            chat = gr.Chatbot()
            gr.Button(name, elem_id=name).click(partial(reply, name, pieces), chat, chat)

if __name__ == "__main__":
    page.launch(head=PROBE)
