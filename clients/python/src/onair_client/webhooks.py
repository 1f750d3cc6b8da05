from __future__ import annotations

import base64
import binascii
import hmac
import logging
import re
import threading
import time
from collections import OrderedDict
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple

from .api import Event
from .events import event_of, is_sample

_log = logging.getLogger("onair_client")

# How far the time of a delivery may differ from the clock, in seconds.
_TOLERANCE = 300.0
_MAX_BODY_BYTES = 1024 * 1024
# The reason for refusing a sample. The platform recognises this answer by `test_`.
_SAMPLE_REFUSED = (
    "The signature is valid, but this is a sample (test_), and this receiver has not set accept_tests"
)


class VerificationError(Exception):
    """A delivery is not genuine, too old, or not an event."""


class _NotAnEvent(VerificationError):
    pass


class Verifier:
    """Verifies deliveries (Standard Webhooks, `v1`) with the webhook secret, or with several in a rotation.

    Raises `ValueError` for an invalid secret.
    """

    def __init__(self, *secrets: str, now: Callable[[], float] = time.time) -> None:
        if not secrets:
            raise ValueError("a verifier needs a webhook secret, whsec_…")
        self._keys = [_key_of(secret) for secret in secrets]
        self._now = now

    def verify(self, headers: Mapping[str, str], body: bytes) -> Event:
        """Returns the event of a genuine delivery. `body` are the bytes that were received.

        Raises `VerificationError` for any other. It does not know duplicates: remember `event["delivery"]["id"]`.
        """
        known = {name.lower(): value for name, value in headers.items()}
        self._check(known, body)
        try:
            return event_of(body, known)
        except ValueError as error:
            raise _NotAnEvent("The body is not an event") from error

    def _check(self, headers: Mapping[str, str], body: bytes) -> None:
        sent_at = headers.get("webhook-timestamp", "")
        if not re.fullmatch("[0-9]{1,12}", sent_at):
            raise VerificationError("webhook-timestamp is missing or invalid")
        if abs(self._now() - int(sent_at)) > _TOLERANCE:
            raise VerificationError("webhook-timestamp is too old or too new")
        identifier = headers.get("webhook-id", "")
        if not identifier:
            raise VerificationError("webhook-id is missing")
        signed = f"{identifier}.{sent_at}.".encode("utf-8", "surrogatepass") + body
        given = headers.get("webhook-signature", "").encode("utf-8", "surrogatepass").split()
        is_genuine = False
        for key in self._keys:
            expected = b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256"))
            for one in given:
                is_genuine |= hmac.compare_digest(expected, one)
        if not is_genuine:
            raise VerificationError("No signature is valid")


def _key_of(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret[len("whsec_") :], validate=True) if secret.startswith("whsec_") else b""
    except binascii.Error:
        key = b""
    if not key:
        # The secret itself stays out of the message.
        raise ValueError("a webhook secret is whsec_… with base64")
    return key


class Receiver:
    """Receives webhooks: verifies them, and passes the event of each delivery to `on_event` once.

    It answers 204 when `on_event` has succeeded, now or before for the same delivery; 401 to an invalid signature or
    timestamp; 403 to a sample unless `accept_tests` is set; 500 when `on_event` raised, so that the platform sends the
    event again. The platform waits 15 seconds. The last ids (`remember`) are kept in memory.

    It is a WSGI application (`gunicorn bot:receiver`), has `serve` for a small bot, and `receive` for any framework.
    """

    def __init__(
        self,
        *secrets: str,
        on_event: Callable[[Event], Any],
        accept_tests: bool = False,
        remember: int = 10_000,
    ) -> None:
        self._verifier = Verifier(*secrets)
        self._on_event = on_event
        self._accept_tests = accept_tests
        self._remember = remember
        self._lock = threading.Lock()
        self._done: OrderedDict[str, Future[bool]] = OrderedDict()

    def receive(self, method: str, headers: Mapping[str, str], body: bytes) -> Tuple[int, str]:
        """Handles a request and returns the status and the text of the answer. Never raises an error."""
        if method != "POST":
            return 405, "Webhooks are sent with POST"
        if len(body) > _MAX_BODY_BYTES:
            return 413, "The body is too large"
        try:
            event = self._verifier.verify(headers, body)
        except VerificationError as error:
            return (400 if isinstance(error, _NotAnEvent) else 401), str(error)
        if is_sample(event["delivery"]["id"]) and not self._accept_tests:
            return 403, _SAMPLE_REFUSED
        return (204, "") if self._once(event) else (500, "The event could not be handled")

    def _once(self, event: Event) -> bool:
        """Handles each delivery once. A repetition gets the same result, or is handled after a failure."""
        key = event["delivery"]["id"]
        mine: Future[bool] = Future()
        with self._lock:
            known = self._done.get(key)
            if known is None:
                self._done[key] = mine
                while len(self._done) > self._remember:
                    self._done.popitem(last=False)
        if known is not None:
            return known.result()
        is_done = False
        try:
            self._on_event(event)
            is_done = True
        except Exception:
            _log.exception("The event %s could not be handled", key)
        finally:
            if not is_done:
                with self._lock:
                    if self._done.get(key) is mine:
                        del self._done[key]
            mine.set_result(is_done)
        return is_done

    def __call__(self, environ: Dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """WSGI (PEP 3333)."""
        headers = {
            name[5:].replace("_", "-"): value for name, value in environ.items() if name.startswith("HTTP_")
        }
        source = environ["wsgi.input"]
        try:
            length = int(environ.get("CONTENT_LENGTH") or 0)
        except ValueError:
            length = 0
        # A server that decodes chunks says so.
        most = _MAX_BODY_BYTES + 1
        body = source.read(most if environ.get("wsgi.input_terminated") else max(0, min(length, most)))
        status, text = self.receive(environ["REQUEST_METHOD"], headers, body)
        content = text.encode()
        start_response(
            f"{status} {_REASONS[status]}",
            [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(content)))],
        )
        return [content]

    def serve(self, port: int = 3000, host: str = "127.0.0.1") -> None:
        """Serves webhooks until the process ends, for a small bot behind a reverse proxy."""
        self.server(port, host).serve_forever()

    def server(self, port: int = 3000, host: str = "127.0.0.1") -> ThreadingHTTPServer:
        """A server that listens; `serve_forever` and `shutdown` start and end it. Port 0 takes a free one."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 15

            def _answer(self) -> None:
                # A connection with an unread or unreadable body cannot be used again.
                self.close_connection = True
                try:
                    body = _body_of(self)
                except ValueError as error:
                    status, text = 400, str(error)
                else:
                    status, text = receiver.receive(self.command, dict(self.headers.items()), body)
                content = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/plain; charset=utf-8")
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Connection", "close")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_POST = do_GET = do_HEAD = do_PUT = do_DELETE = do_PATCH = _answer

            def log_message(self, format: str, *args: Any) -> None:
                _log.debug(format, *args)

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                # A client that breaks off is no error of this program.
                _log.debug("A request broke off", exc_info=True)

        return Server((host, port), Handler)


_REASONS = {
    204: "No Content",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    405: "Method Not Allowed",
    413: "Content Too Large",
    500: "Internal Server Error",
}


def _body_of(request: BaseHTTPRequestHandler) -> bytes:
    """Reads the body, also in chunks, up to a byte more than is accepted. Raises `ValueError` for any other form."""
    most = _MAX_BODY_BYTES + 1
    coding = request.headers.get("transfer-encoding")
    if coding is None:
        length = request.headers.get("content-length", "0")
        if not re.fullmatch("[0-9]{1,15}", length):
            raise ValueError("content-length is invalid")
        body = request.rfile.read(min(int(length), most))
        if len(body) < min(int(length), most):
            raise ValueError("The body broke off")
        return body
    if coding.strip().lower() != "chunked":
        raise ValueError("transfer-encoding is unknown")
    parts: List[bytes] = []
    total = 0
    while total <= _MAX_BODY_BYTES:
        size = request.rfile.readline(100).split(b";")[0].strip()
        if not re.fullmatch(b"[0-9a-fA-F]{1,8}", size):
            raise ValueError("A chunk is invalid")
        if int(size, 16) == 0:
            break
        part = request.rfile.read(min(int(size, 16), most - total))
        parts.append(part)
        total += len(part)
        request.rfile.readline(100)
    return b"".join(parts)
