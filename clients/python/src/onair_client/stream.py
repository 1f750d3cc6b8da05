from __future__ import annotations

import asyncio
import email.utils
import http.client
import json
import socket
import threading
from datetime import timezone
from typing import Any, AsyncIterator, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional

from .api import StreamEvent
from .errors import OnairError, error_of
from .events import event_of
from .transport import lowered, with_jitter

# The silence after which a connection counts as dead: three heartbeats, which the server sends every 15 seconds.
_LONGEST_SILENCE = 45.0
_FIRST_WAIT = 1.0
_LONGEST_WAIT = 30.0
# The longest wait that a server can ask for. A date in its `Retry-After` could be thousands of years ahead.
_LONGEST_ASKED = 3600.0
# The longest accepted frame, in bytes.
_LONGEST_FRAME = 8 * 1024 * 1024

_Open = Callable[[Mapping[str, Any], Mapping[str, str], float], http.client.HTTPResponse]


class Stream:
    """The events of an application: `for event in stream` or, in asyncio, `async for event in stream`.

    It reconnects after an interruption and goes on at its position. It raises `OnairError` when the server refuses for
    good. Besides events it has `gap` and notices about the endpoint. One thread or task at a time reads it.
    """

    position: str
    """The position of the last event; a later stream can start after it."""

    def __init__(
        self,
        open_stream: _Open,
        *,
        position: Optional[str],
        after: Optional[str],
        shard: Optional[str],
        on_connected: Optional[Callable[[], None]],
        on_interrupted: Optional[Callable[[Exception, float], None]],
    ) -> None:
        self.position = position or ""
        self._open = open_stream
        # Without one, the time of the first connection by the server's clock, so that later events count.
        self._after = after
        self._shard = shard
        self._on_connected = on_connected or (lambda: None)
        self._on_interrupted = on_interrupted or (lambda reason, wait: None)
        self._closed = threading.Event()
        self._response: Optional[http.client.HTTPResponse] = None
        self._events = self._follow()

    def close(self) -> None:
        """Ends the stream, also from another thread: a thread that waits for an event stops waiting."""
        self._closed.set()
        response = self._response
        try:
            if response is not None:
                with socket.fromfd(response.fileno(), socket.AF_INET, socket.SOCK_STREAM) as connection:
                    connection.shutdown(socket.SHUT_RDWR)
        except (OSError, ValueError):
            pass  # It is closed already.

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[StreamEvent]:
        return self

    def __next__(self) -> StreamEvent:
        event = next(self._events)
        self.position = event["position"]
        return event

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self

    async def __anext__(self) -> StreamEvent:
        """Waits for an event in another thread. A task that is cancelled closes the stream."""
        try:
            event = await asyncio.to_thread(self._next)
        except asyncio.CancelledError:
            self.close()
            raise
        if event is None:
            raise StopAsyncIteration
        self.position = event["position"]
        return event

    def _next(self) -> Optional[StreamEvent]:
        return next(self._events, None)

    def _follow(self) -> Iterator[StreamEvent]:
        last_id = self.position
        wait = _FIRST_WAIT
        failures = 0
        while not self._closed.is_set():
            reason: Exception = ConnectionError("The stream ended")
            try:
                for frame in self._connection(last_id):
                    failures = 0
                    last_id = frame.last_id or last_id
                    wait = frame.retry if frame.retry is not None else wait
                    if frame.data is not None:
                        yield _event_of(frame, last_id)
            except OnairError as error:
                if error.status != 429 and error.status < 500:
                    raise
                reason = error
            except (OSError, http.client.HTTPException) as error:
                reason = error
            if self._closed.is_set():
                return
            asked = reason.retry_after if isinstance(reason, OnairError) else None
            delay = min(wait * 2**failures, _LONGEST_WAIT) if asked is None else min(asked, _LONGEST_ASKED)
            delay = with_jitter(delay, is_least=asked is not None)
            failures = min(failures + 1, 10)
            self._on_interrupted(reason, delay)
            self._closed.wait(delay)

    def _connection(self, last_id: str) -> Iterator[_Frame]:
        """The frames of one connection, which starts after this id."""
        params: Dict[str, Any] = {"shard": self._shard}
        headers = {"Accept": "text/event-stream"}
        if last_id:
            headers["Last-Event-ID"] = last_id
        else:
            params["after"] = self._after
        with self._open(params, headers, _LONGEST_SILENCE) as response:
            is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
            if response.status != 200 or not is_stream:
                raise error_of(response.status, lowered(response.headers), response.read(64 * 1024))
            self._response = response
            try:
                if self._closed.is_set():
                    return
                if self._after is None:
                    self._after = _time_of(response.headers.get("date"))
                self._on_connected()
                yield from frames_of(response)
            finally:
                self._response = None


class _Frame(NamedTuple):
    """A frame of server-sent events."""

    type: str
    # None for a frame without data, which is not an event, but may carry an id.
    data: Optional[str]
    # The last id so far; "" before the first.
    last_id: str
    # The time to wait before connecting again, in seconds.
    retry: Optional[float]


def frames_of(stream: Any) -> Iterator[_Frame]:
    """Parses server-sent events, in lines that end with LF or CRLF. Drops a last frame without a blank line.

    Raises `ConnectionError` when a frame is longer than 8 MiB.
    """
    last_id = ""
    kind = ""
    data: List[str] = []
    retry: Optional[float] = None
    size = 0
    while True:
        raw: bytes = stream.readline(_LONGEST_FRAME + 1)
        size += len(raw)
        if size > _LONGEST_FRAME:
            raise ConnectionError("The stream sent a frame that is too long")
        if not raw.endswith(b"\n"):
            return
        line = raw.rstrip(b"\r\n").decode("utf-8", "replace")
        if not line:
            if size > len(raw):
                yield _Frame(kind or "message", "\n".join(data) if data else None, last_id, retry)
            kind, data, retry, size = "", [], None, 0
            continue
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            data.append(value)
        elif name == "event":
            kind = value
        elif name == "id" and "\0" not in value:
            last_id = value
        elif name == "retry" and value.isascii() and value.isdigit() and len(value) < 10:
            retry = int(value) / 1000


def _event_of(frame: _Frame, position: str) -> StreamEvent:
    content = json.loads(frame.data or "")
    if frame.type == "gap":
        return {"type": "gap", "data": content, "position": position}
    return event_of(content["body"].encode(), content["headers"], position)


def _time_of(date: Optional[str]) -> Optional[str]:
    """The time of a header `Date`, ISO 8601."""
    try:
        return email.utils.parsedate_to_datetime(date or "").astimezone(timezone.utc).isoformat()
    except (TypeError, ValueError, IndexError):
        return None
