from __future__ import annotations

import json
import urllib.parse
from datetime import datetime
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence

from .api import Api, Time
from .errors import error_of
from .stream import Stream
from .tokens import Session, Tokens
from .transport import Answer, Patience, Transport

# The most renewals for a request. The limit ends repetition when the server refuses every token.
_MOST_RENEWALS = 2


class Client(Api):
    """The public API, typed by its OpenAPI document. Safe to use from several threads.

    It fetches tokens when they are needed, renews them, and repeats requests after 429 and `Retry-After`. Every call
    raises `OnairError` for an error answer, and `OSError` for an error of the network.

    The credentials are those of an application, the `session` of a user who signed in to it, or a `token` from
    elsewhere, which is not renewed. Without any of them, only public data can be read. `save_session` is called with
    new tokens before they are used, and again if it raised an error; it must not use this client.
    """

    def __init__(
        self,
        url: str,
        *,
        client_id: Optional[str] = None,
        client_secret: Optional[str] = None,
        scopes: Optional[Sequence[str]] = None,
        session: Optional[Session] = None,
        save_session: Optional[Callable[[Session], None]] = None,
        token: Optional[str] = None,
        timeout: float = 30.0,
        max_retries: int = 5,
        max_wait: float = 60.0,
    ) -> None:
        """`timeout` (of each wait for the server) and `max_wait` (between repetitions) are in seconds."""
        self._transport = Transport(url, timeout, Patience(max_retries, max_wait))
        self._tokens = Tokens(
            self._transport,
            token=token,
            client_id=client_id,
            client_secret=client_secret,
            scopes=scopes,
            session=session,
            save_session=save_session,
        )

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Optional[Mapping[str, Any]] = None,
        body: Any = None,
    ) -> Any:
        """Sends a request and returns the JSON of the answer; None for an answer without a body."""
        query = _query(params)
        content = None if body is None else json.dumps(body, default=_plain).encode()
        headers = {"Accept": "application/json"}
        if content is not None:
            headers["Content-Type"] = "application/json"

        def send(token: Optional[str]) -> Answer:
            return self._transport.send(method, path + query, {**headers, **_bearer(token)}, content)

        def authorized() -> Answer:
            answer: Answer = self._authorized(send)
            return answer

        answer = self._transport.patiently(method, path, authorized)
        if not 200 <= answer.status < 300:
            raise error_of(answer.status, answer.headers, answer.body)
        return json.loads(answer.body) if answer.body else None

    def stream(
        self,
        *,
        position: Optional[str] = None,
        after: Optional[Time] = None,
        shard: Optional[str] = None,
        on_connected: Optional[Callable[[], None]] = None,
        on_interrupted: Optional[Callable[[Exception, float], None]] = None,
    ) -> Stream:
        """The events of the application, or of the user whose token the client has, as they happen.

        `position` is that of an earlier event, after which the stream starts; `after` is a time to start at; `shard` is
        one of up to 64 parts of the stream, like `2/8`. `on_interrupted` gets the reason and the seconds until the next
        attempt.
        """
        return Stream(
            self._open_stream,
            position=position,
            after=_text(after) if after is not None else None,
            shard=shard,
            on_connected=on_connected,
            on_interrupted=on_interrupted,
        )

    def _open_stream(self, params: Mapping[str, Any], headers: Mapping[str, str], timeout: float) -> Any:
        path = "/public/v1/events/stream" + _query(params)

        def send(token: Optional[str]) -> Any:
            return self._transport.open("GET", path, {**headers, **_bearer(token)}, timeout=timeout)

        return self._authorized(send)

    def _authorized(self, send: Callable[[Optional[str]], Any]) -> Any:
        """Sends a request, whose answer has a `status`, with a token that is renewed when refused."""
        token = self._tokens.current()
        for renewals in range(_MOST_RENEWALS + 1):
            answer = send(token)
            if answer.status != 401 or token is None or renewals == _MOST_RENEWALS:
                return answer
            token = self._tokens.after(token)
            if token is None:
                return answer
            if not isinstance(answer, Answer):
                answer.close()
        raise AssertionError("unreachable")

    def _pages(self, path: str, params: Dict[str, Any], field: str) -> Iterator[Any]:
        cursor = ""
        while True:
            page = self.request("GET", path, params={**params, "cursor": cursor or None})
            yield from page[field]
            if not page["pagination"]["has_more"]:
                return
            if page["pagination"]["cursor"] in ("", cursor):
                raise ValueError("The server has more pages, but no cursor for them")
            cursor = page["pagination"]["cursor"]


def _bearer(token: Optional[str]) -> Dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def _query(params: Optional[Mapping[str, Any]]) -> str:
    """The query of these parameters; None is left out, and a list is repeated."""
    pairs = []
    for name, value in (params or {}).items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None:
                pairs.append((name, _text(one)))
    return "?" + urllib.parse.urlencode(pairs) if pairs else ""


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _plain(value) if isinstance(value, datetime) else str(value)


def _plain(value: Any) -> str:
    """A time as the API takes it."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("a time needs a time zone, like datetime.now(timezone.utc)")
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not JSON")
