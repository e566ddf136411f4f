"""Two views that stream."""

from __future__ import annotations

from apps import async_events, sync_events
from django.http import HttpRequest, StreamingHttpResponse
from django.urls import path


def chat(request: HttpRequest) -> StreamingHttpResponse:
    return StreamingHttpResponse(sync_events(), content_type="text/event-stream")


async def async_chat(request: HttpRequest) -> StreamingHttpResponse:
    return StreamingHttpResponse(async_events(), content_type="text/event-stream")


urlpatterns = [path("chat", chat), path("async-chat", async_chat)]
