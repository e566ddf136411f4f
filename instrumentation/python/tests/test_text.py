"""The tables of the package are those of the contract."""

from __future__ import annotations

from typing import Iterable

import pytest
from contract import CONTRACT
from llm_rum import text


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("end_types", text.END_TYPES),
        ("no_text_types", text.NO_TEXT_TYPES),
        ("delta_prefixes", text.DELTA_PREFIXES),
        ("text_parts", text.TEXT_PARTS),
        ("silent_fields", text.SILENT_FIELDS),
    ],
)
def test_tables_are_those_of_the_contract(name: str, table: Iterable[str]) -> None:
    assert sorted(table) == sorted(CONTRACT[name])


@pytest.mark.parametrize(
    ("event", "has_text"),
    [
        (b"data: {\n\n", True),
        (b"data: [1]\n\n", True),
        (b"data: " + b"[" * 5000 + b"]" * 5000 + b"\n\n", True),
        (b'data: {"type": ["start"]}\n\n', True),
        (b'data: {"choices": "none"}\n\n', True),
        (b'data: {"choices": [null, 7]}\n\n', False),
        (b"data: \xff\n\n", True),
        (b"event: response.created\ndata: {\n\n", False),
    ],
)
def test_unusual_events_have_a_kind(event: bytes, has_text: bool) -> None:
    assert text.kind_of(event) == text.Kind(has_text, is_end=False)


@pytest.mark.parametrize("name", sorted(text.END_TYPES))
@pytest.mark.parametrize(
    "form",
    ["event: {}\ndata: 1\n\n", "event:{}\r\ndata: 1\r\n\r\n", "id: 1\nevent: {}|sub:1\ndata: 1\n\n"]
    + ['data: {{"type":"{}"}}\n\n', 'data: {{"id":1,"type" : "{}"}}\n\n'],
)
def test_no_end_event_is_passed_over(form: str, name: str) -> None:
    event = form.format(name).encode()
    assert text.kind_of(event).is_end
    assert text.may_be_end(event)


def test_most_events_are_not_parsed() -> None:
    assert not text.may_be_end(b'data: {"type":"text-delta","delta":"the \\"end\\" [done]"}\n\n')
    assert not text.may_be_end(b'event: content_block_delta\ndata: {"type":"content_block_delta"}\n\n')
    assert text.may_be_end(b"data: [DONE]\n\n")
