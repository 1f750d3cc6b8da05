from __future__ import annotations

import json
from typing import Any, Mapping, cast

from .api import Event


def is_sample(delivery_id: str) -> bool:
    """Whether a delivery is a sample, by its id, which is signed, unlike the header `Onair-Test`."""
    return delivery_id.startswith("test_")


def event_of(body: bytes, headers: Mapping[str, str], position: str = "") -> Event:
    """Reads an event whose sender is verified; the names of `headers` are in lower case.

    Raises `ValueError` when the body is not an event.
    """
    try:
        event: Any = json.loads(body)
    except RecursionError:
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        raise ValueError("The body is not an event")
    delivery_id = headers.get("webhook-id", "")
    event["delivery"] = {
        "id": delivery_id,
        "event_id": headers.get("onair-event-id", ""),
        "subscription_id": headers.get("onair-subscription-id", ""),
        "sequence": _number(headers.get("onair-sequence", "")),
        "attempt": _number(headers.get("onair-attempt", "")),
        "is_test": is_sample(delivery_id) or headers.get("onair-test") == "true",
    }
    event["position"] = position
    return cast(Event, event)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
