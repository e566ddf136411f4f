"""The pace of the answers of `streamlit_chat.py`, `nicegui_chat.py` and `panel_chat.py`."""

WAIT_S, WORD_S, WORDS, STALL_S = 0.6, 0.1, 10, 3.0
# With a wait that is longer by this, Panel shows that the app is at work.
LONGER_S = 1.0
# The number of the word before a stall.
STALL_AFTER = 4
