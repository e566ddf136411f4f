"""Sends the server's time to first token to the browser, inside the stream of server-sent events.

``Middleware`` wraps an ASGI app and ``WsgiMiddleware`` a WSGI app. ``mark`` adds what only the app knows. Only
browsers get the comment. Every other client receives the app's own bytes.
"""

from .asgi import Middleware
from .marks import mark
from .push import Push
from .wsgi import WsgiMiddleware

__all__ = ["Middleware", "Push", "WsgiMiddleware", "mark"]
