from __future__ import annotations

import email.utils
import json
import re
import time
from typing import Any, List, Mapping, Optional, TypedDict


# A wrong field of a request: `in` is its part, such as `query`.
WrongField = TypedDict("WrongField", {"in": str, "field": str, "message": str})


class OnairError(Exception):
    """An error answer of the API, raised after all repetitions have failed."""

    status: int
    """The HTTP status."""
    code: str
    """The code, like `invalid_parameter`, or `invalid_client` of the token endpoint; "" for none."""
    errors: List[WrongField]
    """All wrong fields of the request."""
    request_id: str
    """The id under which the server logged the request; "" for none."""
    retry_after: Optional[float]
    """The wait that the server asks for, in seconds; None for none."""
    location: Optional[str]
    """The target of a redirect, which is not followed."""
    body: Any
    """The body of the answer, parsed when it is JSON."""

    def __init__(self, message: str, *, status: int = 0, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.errors = []
        self.request_id = ""
        self.retry_after = None
        self.location = None
        self.body = None

    def __str__(self) -> str:
        kind = " ".join(str(one) for one in (self.status, self.code) if one)
        return f"{self.args[0]} ({kind})"


def error_of(status: int, headers: Mapping[str, str], body: bytes) -> OnairError:
    """Reads an error answer, of the API or of a proxy in front of it."""
    answer: Any = body.decode("utf-8", "replace")
    fields: Mapping[str, Any] = {}
    try:
        answer = json.loads(body)
        if isinstance(answer, dict):
            fields = answer
    except ValueError:
        pass
    message = fields.get("message") or fields.get("error_description") or f"The answer was {status}"
    error = OnairError(str(message), status=status)
    error.code = str(fields.get("error") or fields.get("code") or "")
    errors = fields.get("errors")
    error.errors = errors if isinstance(errors, list) else []
    error.request_id = str(fields.get("request_id") or headers.get("x-request-id") or "")
    error.retry_after = retry_after(headers)
    error.location = headers.get("location")
    error.body = answer
    return error


def retry_after(headers: Mapping[str, str]) -> Optional[float]:
    """The wait in `Retry-After`, which has seconds or a date, in seconds; None for none."""
    text = (headers.get("retry-after") or "").strip()
    if re.fullmatch("[0-9]{1,9}", text):
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
