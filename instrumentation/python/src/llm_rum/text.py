"""Tells which events carry generated text and which end a stream."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from .events import HEAD_BYTES


class Kind(NamedTuple):
    """What an event means to the user's wait."""

    has_text: bool
    """Whether it carries generated text, or cannot be told from an event that does."""
    is_end: bool
    """Whether clients stop reading after it."""


def may_be_end(head: bytes) -> bool:
    """False if the event is certainly no end event. This takes a third of the time of parsing it."""
    for mark in _END_MARKS:
        if mark in head:
            return True
    return b"event:" in head and not _END_NAMES.isdisjoint(_EVENT_NAME.findall(head))


def kind_of(head: bytes) -> Kind:
    """The kind of an event, given as ``Event.head``."""
    name, lines = "", []
    for line in head.splitlines():
        if line.startswith(b"data:"):
            lines.append(line[5:])
        elif line.startswith(b"event:"):
            name = line[6:].decode("utf-8", "replace").strip().split("|")[0]
    data = b"\n".join(lines).strip()
    if data == b"[DONE]":
        return _END
    item = _item(data, is_whole=len(head) < HEAD_BYTES)
    type_field = item.get("type")
    type_name = type_field if isinstance(type_field, str) else ""
    if name in END_TYPES or type_name in END_TYPES:
        return _END
    if data in (b"", b'""') or _is_silent_type(name) or _is_silent_type(type_name):
        return _SILENT
    parts = _text_parts(item)
    return _TEXT if not parts or _has_string(parts) else _SILENT


def _item(data: bytes, is_whole: bool) -> dict[str, Any]:
    """The JSON object, or the first one of an array. If it is not whole, only its first field, if that is ``type``."""
    if not is_whole:
        first_type = _FIRST_TYPE.match(data)
        return {"type": first_type.group(1).decode("utf-8", "replace")} if first_type else {}
    if not data.startswith((b"{", b"[")):
        return {}
    try:
        value = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    item = value[0] if isinstance(value, list) and value else value
    return item if isinstance(item, dict) else {}


def _is_silent_type(name: str) -> bool:
    return name in NO_TEXT_TYPES or (name.startswith(DELTA_PREFIXES) and not name.endswith(".delta"))


def _text_parts(item: dict[str, Any]) -> list[Any]:
    """The parts of an event in which its text would be."""
    parts = [item[name] for name in TEXT_PARTS if name in item]
    for name, fields in (("choices", ("delta", "text")), ("candidates", ("content",))):
        elements = item.get(name)
        if isinstance(elements, list):
            parts.append([element.get(field) for element in elements if isinstance(element, dict) for field in fields])
    return parts


def _has_string(value: Any) -> bool:
    """Whether a non-empty string is in it, at any depth."""
    if isinstance(value, str):
        return value != ""
    if isinstance(value, list):
        return any(map(_has_string, value))
    if isinstance(value, dict):
        return any(_has_string(field) for name, field in value.items() if name not in SILENT_FIELDS)
    return False


END_TYPES = frozenset(
    """
    RUN_ERROR RUN_FINISHED conversation.response.done end finish interaction.completed message-end message_stop
    response.completed response.failed response.incomplete
    """.split()
)
"""Types of events after which clients stop reading."""

NO_TEXT_TYPES = frozenset(
    """
    ACTIVITY_DELTA ACTIVITY_SNAPSHOT MESSAGES_SNAPSHOT REASONING_END REASONING_MESSAGE_END REASONING_MESSAGE_START
    REASONING_START RUN_STARTED STATE_DELTA STATE_SNAPSHOT STEP_FINISHED STEP_STARTED TEXT_MESSAGE_END
    TEXT_MESSAGE_START THINKING_END THINKING_START THINKING_TEXT_MESSAGE_END THINKING_TEXT_MESSAGE_START TOOL_CALL_END
    TOOL_CALL_RESULT TOOL_CALL_START abort checkpoints citation-end citation-start content-end content-start
    content_block_start content_block_stop debug error file finish-step human message-metadata message-start
    message_delta message_start messages/complete messages/metadata metadata ping reasoning-end reasoning-start
    response.audio.delta response.output_audio.delta source-document source-url speed start start-step stop system
    tasks text-end text-start tool tool-call-end tool-call-start tool-input-available tool-input-start
    tool-output-available usage values
    """.split()
)
"""Types of events that carry no generated text."""

DELTA_PREFIXES = ("conversation.", "interaction.", "response.", "step.", "tool.execution.")
"""Of the types that begin with these, only those that end with ``.delta`` carry text."""

TEXT_PARTS = ("arguments", "content", "delta", "function", "text", "tool_call_chunks")
"""Fields of an event in which its text would be."""

SILENT_FIELDS = frozenset("annotations citation citations id index name role signature thoughtSignature type".split())
"""Fields whose strings are no generated text."""

_TEXT = Kind(has_text=True, is_end=False)
_SILENT = Kind(has_text=False, is_end=False)
_END = Kind(has_text=False, is_end=True)
_END_MARKS = (b"[DONE]", *(f'"{name}"'.encode() for name in sorted(END_TYPES)))
_END_NAMES = frozenset(name.encode() for name in END_TYPES)
_EVENT_NAME = re.compile(rb"event:[ \t]*([^\s|]*)")
_FIRST_TYPE = re.compile(rb'\{\s*"type"\s*:\s*"([^"\\]{1,64})"')
