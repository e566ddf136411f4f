"""A chat as Shiny's documentation has it, with scripted answers at a known pace."""

import asyncio
import sys
from collections.abc import AsyncIterator

from shiny import App, Inputs, Outputs, Session, reactive, run_app, ui
from streamlit_pace import STALL_S, WAIT_S, WORD_S, WORDS

COLLECTOR, PORT = sys.argv[1:]

page = ui.page_fillable(
    ui.head_content(
        ui.tags.script(src=f"{COLLECTOR}/llm-rum.js", data_site="pk_chat"),
        ui.tags.script(src=f"{COLLECTOR}/llm-rum-more.js", data_with="webSocket", data_socket="/websocket/"),
    ),
    ui.chat_ui("chat", enable_cancel=True),
)


async def answer(question: str) -> AsyncIterator[str]:
    await asyncio.sleep(WAIT_S)
    for number in range(60 if "long" in question else WORDS):
        yield f"word{number} "
        if "fail" in question and number == 4:
            raise RuntimeError("the upstream broke")
        await asyncio.sleep(STALL_S if "stall" in question and number == 4 else WORD_S)


def server(input: Inputs, _output: Outputs, _session: Session) -> None:
    chat = ui.Chat("chat")

    @chat.on_user_submit
    async def _(question: str) -> None:
        if "whole" in question:
            await asyncio.sleep(WAIT_S)
            await chat.append_message("The moon is far away.")
        else:
            await chat.append_message_stream(answer(question))

    @reactive.effect
    @reactive.event(input.chat_cancel)
    def _() -> None:
        chat.latest_message_stream.cancel()


run_app(App(page, server), host="127.0.0.1", port=int(PORT))
