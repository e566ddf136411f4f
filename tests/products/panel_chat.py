"""A chat as Panel's documentation has it, with answers at a known pace."""

import asyncio
import sys
from collections.abc import AsyncIterator

import panel as pn
from streamlit_pace import LONGER_S, STALL_S, WAIT_S, WORD_S, WORDS

# The attributes of the second tag name the extensions.
COLLECTOR, PORT, *EXTENSIONS = sys.argv[1:]

PAGE = f"""
{{% extends base %}}
{{% block postamble %}}
<script src="{COLLECTOR}/llm-rum.js" data-site="pk_chat"></script>
<script src="{COLLECTOR}/llm-rum-more.js" {" ".join(EXTENSIONS)}></script>
{{% endblock %}}
{{% block contents %}}{{{{ embed(roots.chat) }}}}{{% endblock %}}
"""


async def answer(contents: str, _user: str, _instance: pn.chat.ChatInterface) -> AsyncIterator[str]:
    await asyncio.sleep(WAIT_S + (LONGER_S if "wait" in contents else 0))
    text = ""
    for number in range(WORDS):
        text += f"word{number} "
        yield text
        await asyncio.sleep(STALL_S if "stall" in contents and number == 4 else WORD_S)


def chat() -> pn.Template:
    page = pn.Template(PAGE)
    page.add_panel("chat", pn.chat.ChatInterface(callback=answer))
    return page


pn.extension()
pn.serve(chat, address="127.0.0.1", port=int(PORT), show=False)
