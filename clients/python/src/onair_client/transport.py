from __future__ import annotations

import http.client
import random
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, Optional

from .errors import retry_after

# The longest answer that is read.
MAX_ANSWER_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class _AsItIs(urllib.request.HTTPErrorProcessor):
    """Returns every answer: redirects are not followed, because they would take the token to another host."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response

    https_response = http_response


@dataclass(frozen=True)
class Patience:
    max_retries: int
    # The longest wait, in seconds.
    max_wait: float


class Transport:
    """Sends requests to one server. Errors of the network are `OSError`. Safe to use from several threads."""

    def __init__(self, url: str, timeout: float, patience: Patience) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"url must be that of the platform, like https://api.example.com, not {url!r}")
        self.url = url.rstrip("/")
        self._timeout = timeout
        self._patience = patience
        # Uses the proxies of the environment, like every program that uses urllib.
        self._opener = urllib.request.build_opener(_AsItIs)

    def open(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Optional[bytes] = None,
        timeout: Optional[float] = None,
    ) -> http.client.HTTPResponse:
        """Sends a request and returns the answer with its body unread. `timeout` is for each wait, in seconds."""
        if not path.startswith("/"):
            # Otherwise the token could go to another host, as with `@evil.example/`.
            raise ValueError(f"path must begin with a slash, not {path!r}")
        request = urllib.request.Request(self.url + path, data=body, method=method)
        for name, value in {"User-Agent": "onair-python", **headers}.items():
            request.add_header(name, value)
        try:
            return self._opener.open(request, timeout=timeout or self._timeout)  # type: ignore[no-any-return]
        except http.client.HTTPException as error:
            raise ConnectionError(f"The answer is not HTTP: {error!r}") from error

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: Optional[bytes] = None
    ) -> Answer:
        """Sends a request and reads the answer."""
        try:
            with self.open(method, path, headers, body) as response:
                content = response.read(MAX_ANSWER_BYTES + 1)
                if len(content) > MAX_ANSWER_BYTES:
                    raise ConnectionError("The answer is too long")
                if response.length:
                    raise ConnectionError("The answer was cut off")
                return Answer(response.status, lowered(response.headers), content)
        except http.client.HTTPException as error:
            raise ConnectionError(f"The answer was cut off: {error!r}") from error

    def patiently(self, method: str, path: str, send: Callable[[], Answer]) -> Answer:
        """Repeats a request that the server refuses temporarily: after `Retry-After`, or a delay that grows."""
        tries = 0
        while True:
            answer = send()
            if not _is_for_now(answer.status, method, path) or tries >= self._patience.max_retries:
                return answer
            asked = retry_after(answer.headers)
            wait = asked if asked is not None else float(2**tries)
            if wait > self._patience.max_wait:
                return answer
            time.sleep(with_jitter(wait, is_least=asked is not None))
            tries += 1


def lowered(headers: http.client.HTTPMessage) -> Dict[str, str]:
    """The headers by their names in lower case."""
    return {name.lower(): value for name, value in headers.items()}


def with_jitter(wait: float, *, is_least: bool, draw: Callable[[], float] = random.random) -> float:
    """Spreads a wait, so that not all clients come back at once: up to 10 % more, or any part of it."""
    return wait * (1 + draw() / 10 if is_least else draw())


# The POST requests that have the same effect when they are executed twice.
_REPEATABLE_POSTS = ("/oauth/token", "/public/v1/events/subscriptions")


def _is_for_now(status: int, method: str, path: str) -> bool:
    """429 means that nothing was done; after 502 to 504, the request may have been executed."""
    is_repeatable = method != "POST" or path in _REPEATABLE_POSTS
    return status == 429 or (status in (502, 503, 504) and is_repeatable)
