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
