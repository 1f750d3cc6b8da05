"""Client for the developer API of On Air: tokens, calls, webhooks and the event stream."""

from .api import Event, Gap, StreamEvent
from .client import Client
from .errors import OnairError
from .sign_in import SignIn
from .stream import Stream
from .tokens import Session
from .webhooks import Receiver, VerificationError, Verifier

__all__ = [
    "Client",
    "Event",
    "Gap",
    "OnairError",
    "Receiver",
    "Session",
    "SignIn",
    "Stream",
    "StreamEvent",
    "VerificationError",
    "Verifier",
]
