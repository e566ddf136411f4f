"""A chat as Panel's documentation has it, with answers at a known pace."""

import asyncio
import sys
from collections.abc import AsyncIterator

import panel as pn
from streamlit_pace import WAIT_S, WORD_S, WORDS

COLLECTOR, PORT, *ASKS = sys.argv[1:]

PAGE = f"""
{{% extends base %}}
{{% block postamble %}}
<script src="{COLLECTOR}/llm-rum.js" data-site="pk_chat"></script>
<script src="{COLLECTOR}/llm-rum-more.js" data-with="webSocket output" data-socket="/ws" {" ".join(ASKS)}></script>
{{% endblock %}}
{{% block contents %}}{{{{ embed(roots.chat) }}}}{{% endblock %}}
"""


async def answer(_contents: str, _user: str, _instance: pn.chat.ChatInterface) -> AsyncIterator[str]:
    await asyncio.sleep(WAIT_S)
    text = ""
    for number in range(WORDS):
        text += f"word{number} "
        yield text
        await asyncio.sleep(WORD_S)


def chat() -> pn.Template:
    page = pn.Template(PAGE)
    page.add_panel("chat", pn.chat.ChatInterface(callback=answer))
    return page


pn.extension()
pn.serve(chat, address="127.0.0.1", port=int(PORT), show=False)
