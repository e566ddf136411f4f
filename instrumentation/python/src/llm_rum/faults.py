"""Reports faults of this package without disturbing the app."""

from __future__ import annotations

import logging

_LOGGER = logging.getLogger("llm_rum")
_LOGGED: set[str] = set()


def log_once(message: str, *values: object, is_exception: bool = False) -> None:
    """Logs a warning, with the current exception if there is one to show. Each message is logged once per process."""
    if message not in _LOGGED:
        _LOGGED.add(message)
        _LOGGER.warning(message, *values, exc_info=is_exception)
