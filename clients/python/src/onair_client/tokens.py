from __future__ import annotations

import json
import threading
import time
import urllib.parse
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Callable, Dict, Mapping, Optional, Sequence

from .errors import error_of
from .transport import Transport

# The time before its expiry at which a token is renewed, in seconds; a tenth of its lifetime if that is less.
_EARLY = 60.0


@dataclass(frozen=True)
class Session:
    """Tokens, which a program can save (`dataclasses.asdict`) and use again later (`Session(**saved)`)."""

    access_token: str = field(repr=False)
    # The time at which the access token expires, in seconds since the epoch.
    expires_at: float
    # The refresh token of a user who signed in. Each renewal gives a new one.
    refresh_token: Optional[str] = field(default=None, repr=False)


def request_token(transport: Transport, form: Mapping[str, str]) -> Session:
    """Requests tokens. Raises `OnairError` when the server refuses."""
    asked_at = time.time()
    body = urllib.parse.urlencode(form).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    path = "/oauth/token"
    answer = transport.patiently("POST", path, lambda: transport.send("POST", path, headers, body))
    if answer.status != 200:
        raise error_of(answer.status, answer.headers, answer.body)
    given = json.loads(answer.body)
    return Session(given["access_token"], asked_at + given["expires_in"], given.get("refresh_token"))


class Tokens:
    """The access token of a client: fetched when first needed, renewed before it expires, once for all threads."""

    def __init__(
        self,
        transport: Transport,
        *,
        token: Optional[str],
        client_id: Optional[str],
        client_secret: Optional[str],
        scopes: Optional[Sequence[str]],
        session: Optional[Session],
        save_session: Optional[Callable[[Session], None]],
    ) -> None:
        if token is None and client_id is None and client_secret is not None:
            raise ValueError("a client secret needs the client id")
        has_user = session is not None and session.refresh_token is not None
        if token is None and client_id is not None and client_secret is None and not has_user:
            raise ValueError("a client id needs a client secret, or the session of a user")
        self._transport = transport
        self._fixed = token
        self._is_fixed = token is not None or client_id is None
        self._credentials: Dict[str, str] = {"client_id": client_id or ""}
        if client_secret is not None:
            self._credentials["client_secret"] = client_secret
        self._scopes = scopes
        self._save = save_session
        self._lock = threading.Lock()
        self._session = session
        self._renew_at = session.expires_at - _EARLY if session else 0.0
        # The renewal in progress, which all threads share.
        self._renewal: Optional[Future[Session]] = None
        # Tokens that are not saved yet. Using the previous refresh token again would revoke all of them.
        self._unsaved: Optional[Session] = None

    def current(self) -> Optional[str]:
        """The token to send; None for a client without credentials."""
        return self._fixed if self._is_fixed else self._valid(None)

    def after(self, refused: str) -> Optional[str]:
        """The next token after the server refused this one; None when it cannot be renewed."""
        return None if self._is_fixed else self._valid(refused)

    def _valid(self, refused: Optional[str]) -> str:
        with self._lock:
            session = self._session
            if session is not None:
                is_good = (
                    time.time() < self._renew_at if refused is None else session.access_token != refused
                )
                if is_good:
                    return session.access_token
            shared = self._renewal
            mine: Future[Session] = Future()
            if shared is None:
                self._renewal = mine
        if shared is not None:
            return shared.result().access_token
        try:
            session = self._renew()
        except BaseException as error:
            with self._lock:
                self._renewal = None
            mine.set_exception(error)
            raise
        with self._lock:
            life = session.expires_at - time.time()
            self._session = session
            self._renew_at = session.expires_at - min(_EARLY, life / 10)
            self._renewal = None
        mine.set_result(session)
        return session.access_token

    def _renew(self) -> Session:
        session = self._unsaved or self._ask()
        self._unsaved = session
        if self._save is not None:
            self._save(session)
        self._unsaved = None
        return session

    def _ask(self) -> Session:
        refresh_token = self._session.refresh_token if self._session else None
        form = dict(self._credentials)
        if refresh_token is not None:
            form.update(grant_type="refresh_token", refresh_token=refresh_token)
        else:
            form.update(grant_type="client_credentials")
            if self._scopes is not None:
                form.update(scope=" ".join(self._scopes))
        return request_token(self._transport, form)
