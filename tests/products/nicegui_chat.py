"""A chat as NiceGUI's example has it, with answers at a known pace."""

import asyncio
import sys

from nicegui import ui
from streamlit_pace import STALL_S, WAIT_S, WORD_S, WORDS

COLLECTOR, PORT = sys.argv[1:]

# The names of who writes a message are no answer.
ui.add_head_html(
    f'<script async src="{COLLECTOR}/llm-rum.js" data-site="pk_chat"></script>'
    f'<script async src="{COLLECTOR}/llm-rum-more.js" data-with="output" data-ignore=".q-message-name"></script>',
    shared=True,
)


@ui.page("/")
def chat() -> None:
    async def send() -> None:
        question = field.value
        field.value = ""
        with messages:
            ui.chat_message(text=question, name="You", sent=True)
            answer = ui.chat_message(name="Bot")
            spinner = ui.spinner(type="dots")
        text = ""
        await asyncio.sleep(WAIT_S)
        for number in range(WORDS):
            text += f"word{number} "
            answer.clear()
            with answer:
                ui.html(text, sanitize=False)
            await asyncio.sleep(STALL_S if "stall" in question and number == 4 else WORD_S)
        messages.remove(spinner)

    messages = ui.column()
    field = ui.input(placeholder="Ask").on("keydown.enter", send)


ui.run(host="127.0.0.1", port=int(PORT), show=False, reload=False)
