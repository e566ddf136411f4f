"""A Chainlit app as its authors write it, with scripted answers."""

import asyncio

import chainlit as cl

PIECES = ["The", " moon", " is", " far", " away", "."]


@cl.on_message
async def answer(message: cl.Message) -> None:
    await asyncio.sleep(0.3)
    if message.content == "whole":
        await cl.Message("The moon is far away.").send()
        return
    reply = cl.Message("")
    for piece in PIECES:
        await reply.stream_token(piece)
        await asyncio.sleep(0.03)
        if message.content == "fail" and piece == " far":
            raise RuntimeError("the upstream broke")
    while message.content == "slow":
        await reply.stream_token(" on")
        await asyncio.sleep(0.05)
    await reply.update()
