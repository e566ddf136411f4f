"""The pace of the answers of `streamlit_chat.py`."""

WAIT_S, WORD_S, WORDS, STALL_S = 0.6, 0.1, 10, 3.0
