from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import urllib.parse
from typing import Dict, Mapping, Optional, Sequence

from .errors import OnairError
from .tokens import Session, request_token
from .transport import Patience, Transport


class SignIn:
    """The sign-in of a user: authorization code with PKCE (RFC 6749, RFC 7636, RFC 9207).

    Send the browser to `authorization_url`, keep `state` and `verifier` in the user's own session, for example in a
    cookie that only your server can read, and call `finish` with the parameters of the request to the redirect URI. If
    that is another process or request, make the `SignIn` again with the kept `state` and `verifier`.
    """

    def __init__(
        self,
        url: str,
        *,
        client_id: str,
        redirect_uri: str,
        client_secret: Optional[str] = None,
        scopes: Optional[Sequence[str]] = None,
        state: Optional[str] = None,
        verifier: Optional[str] = None,
        timeout: float = 30.0,
    ) -> None:
        """A public client has no `client_secret`. `timeout` is in seconds."""
        self._transport = Transport(url, timeout, Patience(max_retries=5, max_wait=60.0))
        self._credentials: Dict[str, str] = {"client_id": client_id, "redirect_uri": redirect_uri}
        self._client_secret = client_secret
        self._scopes = scopes
        self.state = state if state is not None else secrets.token_urlsafe(32)
        self.verifier = verifier if verifier is not None else secrets.token_urlsafe(32)

    @property
    def authorization_url(self) -> str:
        """Where to send the browser."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        query = {
            "response_type": "code",
            **self._credentials,
            "state": self.state,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        if self._scopes is not None:
            query["scope"] = " ".join(self._scopes)
        return f"{self._transport.url}/oauth/authorize?{urllib.parse.urlencode(query)}"

    def finish(self, params: Mapping[str, str]) -> Session:
        """Exchanges the code that the redirect URI got. Raises `OnairError`, with `access_denied` if the user refused."""
        given = params.get("state", "").encode("utf-8", "surrogatepass")
        # An empty state is one that was not kept: any answer without a state would match it.
        if not self.state or not hmac.compare_digest(given, self.state.encode()):
            raise OnairError("The state is not that of this sign-in", code="invalid_state")
        issuer = params.get("iss", "").rstrip("/")
        if issuer != self._transport.url:
            raise OnairError(
                f"The answer is from {issuer!r}, not from {self._transport.url!r}", code="invalid_issuer"
            )
        if "code" not in params:
            code = params.get("error", "invalid_request")
            raise OnairError(params.get("error_description") or code, code=code)
        form = {
            **self._credentials,
            "grant_type": "authorization_code",
            "code": params["code"],
            "code_verifier": self.verifier,
        }
        if self._client_secret is not None:
            form["client_secret"] = self._client_secret
        return request_token(self._transport, form)
