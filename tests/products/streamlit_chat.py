"""A chat as Streamlit's tutorial has it, with answers at a known pace."""

import time
from collections.abc import Iterator

import streamlit as st
from streamlit_pace import STALL_AFTER, STALL_S, WAIT_S, WORD_S, WORDS


def answer(question: str) -> Iterator[str]:
    time.sleep(WAIT_S)
    for number in range(60 if "long" in question else WORDS):
        yield f"word{number} "
        time.sleep(STALL_S if "stall" in question and number == STALL_AFTER else WORD_S)


st.session_state.setdefault("messages", [])
for message in st.session_state.messages:
    with st.chat_message(message["role"]):
        st.markdown(message["content"])
if question := st.chat_input("Ask"):
    st.session_state.messages.append({"role": "user", "content": question})
    with st.chat_message("user"):
        st.markdown(question)
    with st.chat_message("assistant"):
        text = st.write_stream(answer(question))
    st.session_state.messages.append({"role": "assistant", "content": text})
