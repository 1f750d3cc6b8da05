"""Tests of what is written by hand, against a server that follows a script: python3 -m unittest discover clients/python/tests"""

from __future__ import annotations

import asyncio
import base64
import hmac
import http.client
import io
import json
import socket
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from onair_client import (  # noqa: E402
    Client,
    OnairError,
    Receiver,
    Session,
    SignIn,
    VerificationError,
    Verifier,
)
from onair_client.stream import frames_of  # noqa: E402
from onair_client.transport import with_jitter  # noqa: E402

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"
OLD_SECRET = "whsec_YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4"
FOLLOWED = json.dumps(
    {"type": "channel.followed", "version": 1, "timestamp": "", "data": {"follower": {"username": "fox"}}}
).encode()

Answer = Tuple[int, Dict[str, str], Any]


class ScriptedServer:
    """A server that answers as `answer` says, and remembers the requests."""

    def __init__(self, answer: Callable[[Any], Answer]) -> None:
        self.asked: List[Any] = []
        self.ended = threading.Event()
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.body = self.rfile.read(int(self.headers.get("content-length", 0)))
                parts = urlsplit(self.path)
                self.route, self.query = parts.path, parse_qs(parts.query)
                self.form = {name: values[0] for name, values in parse_qs(self.body.decode()).items()}
                scripted.asked.append(self)
                status, headers, content = answer(self)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                for part in content if isinstance(content, list) else [content]:
                    if callable(part):
                        part()
                    else:
                        self.wfile.write(part if isinstance(part, bytes) else json.dumps(part).encode())

            do_POST = do_PATCH = do_DELETE = do_GET

            def date_time_string(self, timestamp: Any = None) -> str:
                return "Wed, 14 Jan 2026 16:08:06 GMT"

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> ScriptedServer:
        return self

    def __exit__(self, *_: Any) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()


def signed(identifier: str, at: float, body: bytes, *secrets: str) -> Dict[str, str]:
    sent_at = str(int(at))
    signatures = ["v1a,c2ln"]
    for secret in secrets:
        key = base64.b64decode(secret[6:])
        digest = hmac.digest(key, f"{identifier}.{sent_at}.".encode() + body, "sha256")
        signatures.append("v1," + base64.b64encode(digest).decode())
    return {
        "Webhook-Id": identifier,
        "Webhook-Timestamp": sent_at,
        "Webhook-Signature": " ".join(signatures),
        "Onair-Sequence": "7",
    }


class Calls(unittest.TestCase):
    def test_one_renewal_for_all_threads(self) -> None:
        tokens: List[int] = []

        def answer(request: Any) -> Answer:
            if request.route == "/oauth/token":
                tokens.append(1)
                time.sleep(0.05)
                return 200, {}, {"access_token": f"token-{len(tokens)}", "expires_in": 3600}
            if request.headers["authorization"] == "Bearer token-1":
                return 401, {}, {}
            return 200, {}, {"user": {"id": 1}}

        with ScriptedServer(answer) as server:
            onair = Client(server.url, client_id="id", client_secret="secret")
            with ThreadPoolExecutor(20) as pool:
                found = list(pool.map(lambda _: onair.get_user("maya")["user"]["id"], range(20)))
        self.assertEqual(found, [1] * 20)
        self.assertEqual(len(tokens), 2)

    def test_tokens_are_saved_before_they_are_used(self) -> None:
        saved: List[Session] = []

        def save(session: Session) -> None:
            saved.append(session)
            if len(saved) == 1:
                raise OSError("the disk is full")

        def answer(request: Any) -> Answer:
            if request.route == "/oauth/token":
                return 200, {}, {"access_token": "new", "expires_in": 3600, "refresh_token": "second"}
            return 200, {}, {"user": {"id": 1}}

        with ScriptedServer(answer) as server:
            session = Session("old", time.time() - 60, "first")
            onair = Client(server.url, client_id="id", session=session, save_session=save)
            with self.assertRaisesRegex(OSError, "full"):
                onair.get_user("maya")
            onair.get_user("maya")
            forms = [one.form for one in server.asked if one.route == "/oauth/token"]
        # The first refresh token was used once: again it would have ended the sign-in.
        self.assertEqual(
            forms, [{"client_id": "id", "grant_type": "refresh_token", "refresh_token": "first"}]
        )
        self.assertEqual([one.refresh_token for one in saved], ["second", "second"])
        self.assertNotIn("second", repr(saved))

    def test_retries(self) -> None:
        path = "/public/v1/x"
        subscribing = "/public/v1/events/subscriptions"
        for method, path, status, retry_after, tries in [
            ("GET", path, 429, "0", 3),
            ("POST", path, 429, "0", 3),
            ("GET", path, 503, "0", 3),
            ("POST", path, 503, "0", 1),
            # Executed twice, it has the same effect.
            ("POST", subscribing, 503, "0", 3),
            ("GET", path, 500, "0", 1),
            ("GET", path, 503, "3600", 1),
            ("GET", path, 503, "Thu, 01 Jan 1970 00:00:00 GMT", 3),
        ]:
            body = {"message": "busy", "code": "some_code", "errors": [], "request_id": "r1"}
            with self.subTest(method=method, path=path, status=status, retry_after=retry_after):
                with ScriptedServer(lambda _: (status, {"Retry-After": retry_after}, body)) as server:
                    onair = Client(server.url, token="t", max_retries=2)
                    with self.assertRaises(OnairError) as caught:
                        onair.request(method, path)
                error = caught.exception
                self.assertEqual((error.status, error.code, error.request_id), (status, "some_code", "r1"))
                self.assertEqual(len(server.asked), tries)

    def test_waits_are_spread(self) -> None:
        for is_least, part, wait in [(False, 0, 0), (False, 0.5, 5), (False, 1, 10), (True, 0, 10), (True, 1, 11)]:
            with self.subTest(is_least=is_least, part=part):
                self.assertEqual(with_jitter(10, is_least=is_least, draw=lambda: part), wait)

    def test_answers_of_proxies(self) -> None:
        for answer in [
            (500, {}, b"<html>"),
            (302, {"Location": "http://evil.example/"}, b""),
            (400, {}, b"7"),
            (400, {}, b"\xff"),
        ]:
            with self.subTest(answer), ScriptedServer(lambda _: answer) as server:
                with self.assertRaises(OnairError) as caught:
                    Client(server.url, token="t").get_user("a/../b?c")
                self.assertEqual(caught.exception.status, answer[0])
                self.assertEqual(caught.exception.location, answer[1].get("Location"))
                self.assertEqual(server.asked[0].path, "/public/v1/users/a%2F..%2Fb%3Fc")

    def test_an_answer_that_breaks_off_is_an_error_of_the_network(self) -> None:
        with ScriptedServer(lambda _: (200, {"Content-Length": "100"}, b"{}")) as server:
            with self.assertRaises(OSError):
                Client(server.url, token="t").get_user("maya")

    def test_wrong_settings(self) -> None:
        for url, settings in [
            ("api.example.com", {}),
            ("file:///etc/passwd", {}),
            ("https://a", {"client_secret": "s"}),
            ("https://a", {"client_id": "i"}),
        ]:
            with self.subTest(url), self.assertRaises(ValueError):
                Client(url, **settings)
        with self.assertRaises(ValueError):
            Client("http://a.example").request("GET", "@evil.example/")

    def test_pages_do_not_skip(self) -> None:
        pages: Dict[str, Any] = {
            "": {"categories": [{"id": 1}, {"id": 2}], "pagination": {"cursor": "a", "has_more": True}},
            "a": {"categories": [], "pagination": {"cursor": "b", "has_more": True}},
            "b": {"categories": [{"id": 3}], "pagination": {"cursor": "", "has_more": False}},
        }
        failures = [1]

        def answer(request: Any) -> Answer:
            self.assertEqual(request.query["name"], ["x"])
            cursor = request.query.get("cursor", [""])[0]
            if cursor == "b" and failures:
                failures.pop()
                return 503, {"Retry-After": "0"}, {}
            return 200, {}, pages[cursor]

        with ScriptedServer(answer) as server:
            onair = Client(server.url)
            self.assertEqual([one["id"] for one in onair.all_categories(name="x")], [1, 2, 3])
            pages["a"] = {"categories": [], "pagination": {"cursor": "a", "has_more": True}}
            with self.assertRaises(ValueError):
                list(onair.all_categories(name="x"))
            pages["a"] = b'{"categories": ['
            with self.assertRaises(ValueError):
                list(onair.all_categories(name="x"))

    def test_parameters(self) -> None:
        with ScriptedServer(lambda _: (204, {}, b"")) as server:
            onair = Client(server.url, token="t")
            onair.delete_subscriptions(id=["a", "b&c"])
            after = datetime(2026, 1, 14, 16, tzinfo=timezone.utc)
            onair.request("GET", "/x", params={"after": after, "on": True, "no": None})
            with self.assertRaises(ValueError):
                onair.request("GET", "/x", params={"after": datetime(2026, 1, 14)})
            self.assertEqual(server.asked[0].query, {"id": ["a", "b&c"]})
            self.assertEqual(server.asked[1].query, {"after": ["2026-01-14T16:00:00+00:00"], "on": ["true"]})

    def test_sign_in(self) -> None:
        tokens = {"access_token": "a", "expires_in": 7200, "refresh_token": "r"}
        with ScriptedServer(lambda _: (200, {}, tokens)) as server:
            sign_in = SignIn(server.url + "/", client_id="id", redirect_uri="https://app.example/callback")
            good = {"state": sign_in.state, "iss": server.url, "code": "c"}
            denied = {"state": sign_in.state, "iss": server.url, "error": "access_denied"}
            for code, query in [
                ("invalid_state", {**good, "state": "other"}),
                ("invalid_state", {**good, "state": "\u00e9"}),
                ("invalid_issuer", {**good, "iss": "https://evil.example"}),
                ("access_denied", denied),
            ]:
                with self.assertRaises(OnairError) as caught:
                    sign_in.finish(query)
                self.assertEqual(caught.exception.code, code)
            not_kept = SignIn(server.url, client_id="id", redirect_uri="https://app.example/callback", state="")
            with self.assertRaises(OnairError) as caught:
                not_kept.finish({"iss": server.url, "code": "c"})
            self.assertEqual(caught.exception.code, "invalid_state")
            self.assertEqual(server.asked, [])
            self.assertEqual(sign_in.finish(good).refresh_token, "r")
            self.assertEqual(server.asked[0].form["code_verifier"], sign_in.verifier)
            self.assertNotIn("client_secret", server.asked[0].form)


class Webhooks(unittest.TestCase):
    now = 1_768_406_886

    def verify(self, headers: Dict[str, str], body: bytes, *secrets: str) -> Any:
        return Verifier(*secrets, now=lambda: self.now).verify(headers, body)

    def test_genuine(self) -> None:
        event = self.verify(signed("id", self.now, FOLLOWED, SECRET), FOLLOWED, SECRET)
        self.assertEqual(event["data"]["follower"]["username"], "fox")
        self.assertEqual((event["delivery"]["id"], event["delivery"]["sequence"]), ("id", 7))
        # In a rotation the platform signs with both secrets, and a receiver may know both.
        for known in [(SECRET,), (OLD_SECRET,), (OLD_SECRET, SECRET)]:
            self.verify(signed("id", self.now, FOLLOWED, SECRET, OLD_SECRET), FOLLOWED, *known)
        self.verify(signed("id", self.now, FOLLOWED, SECRET), FOLLOWED, OLD_SECRET, SECRET)

    def test_not_genuine(self) -> None:
        for changes in [
            {"Webhook-Id": ""},
            {"Webhook-Id": "other"},
            {"Webhook-Timestamp": ""},
            {"Webhook-Timestamp": "soon"},
            {"Webhook-Timestamp": "9" * 5000},
            {"Webhook-Timestamp": f"+{self.now}"},
            {"Webhook-Timestamp": f"{self.now}\n"},
            {"Webhook-Timestamp": "\u00b2"},
            {"Webhook-Timestamp": "\u0661"},
            {"Webhook-Timestamp": "1e9"},
            {"Webhook-Signature": ""},
            {"Webhook-Signature": "v1a,c2ln"},
            {"Webhook-Signature": "v1,\u00e9 \udcff"},
            {"Webhook-Id": "\ud800"},
        ]:
            with self.subTest(changes), self.assertRaises(VerificationError):
                self.verify({**signed("id", self.now, FOLLOWED, SECRET), **changes}, FOLLOWED, SECRET)
        for at in (self.now - 301, self.now + 301):
            with self.assertRaises(VerificationError):
                self.verify(signed("id", at, FOLLOWED, SECRET), FOLLOWED, SECRET)
        with self.assertRaises(VerificationError):
            self.verify(signed("id", self.now, FOLLOWED, SECRET), FOLLOWED + b" ", SECRET)

    def test_not_an_event(self) -> None:
        for body in [b"null", b"{}", b"[]", b"7", b"", b'{"type":7}', b"\xff", b"[" * 100_000]:
            with self.subTest(body[:9]), self.assertRaises(VerificationError):
                self.verify(signed("id", self.now, body, SECRET), body, SECRET)

    def test_wrong_secrets(self) -> None:
        for wrong in ["", "secret", "whsec_", "whsec_%%%"]:
            with self.subTest(wrong), self.assertRaises(ValueError) as caught:
                Verifier(wrong)
            self.assertNotIn("%%%", str(caught.exception))

    def test_each_delivery_is_handled_once(self) -> None:
        counts: Dict[str, int] = {}

        def on_event(event: Any) -> None:
            key = event["delivery"]["id"]
            counts[key] = counts.get(key, 0) + 1
            time.sleep(0.02)
            if key == "fails" and counts[key] == 1:
                raise RuntimeError("no")

        receiver = Receiver(SECRET, on_event=on_event, remember=3)

        def receive(key: str, body: bytes = FOLLOWED, method: str = "POST") -> int:
            return receiver.receive(method, signed(key, time.time(), body, SECRET), body)[0]

        with ThreadPoolExecutor(5) as pool:
            self.assertEqual(set(pool.map(receive, ["twice"] * 5)), {204})
        self.assertEqual(counts["twice"], 1)
        with self.assertLogs("onair_client"):
            self.assertEqual(receive("fails"), 500)
        self.assertEqual([receive("fails"), receive("test_1")], [204, 403])
        self.assertNotIn("test_1", counts)
        for number in range(10):
            receive(str(number))
        self.assertLessEqual(len(receiver._done), 3)
        self.assertEqual([receive("a", method="GET"), receive("a", b"null")], [405, 400])
        self.assertEqual(receiver.receive("POST", {}, b"x" * 2_000_000)[0], 413)
        accepting = Receiver(SECRET, on_event=on_event, accept_tests=True)
        self.assertEqual(
            accepting.receive("POST", signed("test_1", time.time(), FOLLOWED, SECRET), FOLLOWED)[0], 204
        )

    def test_the_server_reads_every_form_of_a_body(self) -> None:
        server = Receiver(SECRET, on_event=lambda event: None).server(port=0)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

        def ask(headers: Dict[str, str], body: bytes, method: str = "POST") -> bytes:
            lines = [f"{method} / HTTP/1.1", "Host: a", *(f"{name}: {value}" for name, value in headers.items())]
            with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
                try:
                    connection.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
                    connection.shutdown(socket.SHUT_WR)
                    return connection.makefile("rb").read().split(b"\r\n")[0].split(b" ")[1]
                except OSError:
                    # It stops reading a body that is too long.
                    return b"413" if len(body) > 1_000_000 else b"reset"

        genuine = lambda key: signed(key, time.time(), FOLLOWED, SECRET)  # noqa: E731
        half = len(FOLLOWED) // 2
        chunks = b"".join(b"%x;a=b\r\n%s\r\n" % (len(part), part) for part in (FOLLOWED[:half], FOLLOWED[half:]))
        chunked = {"Transfer-Encoding": "Chunked"}
        length = {"Content-Length": str(len(FOLLOWED))}
        for want, headers, body in [
            (b"204", {**genuine("a"), **length}, FOLLOWED),
            (b"204", {**genuine("b"), **chunked}, chunks + b"0\r\n\r\n"),
            (b"400", {**genuine("c"), **chunked}, chunks),
            (b"400", {**genuine("d"), **chunked}, b"-5\r\n"),
            (b"400", {**genuine("e"), "Content-Length": "-1"}, FOLLOWED),
            (b"400", {**genuine("f"), **length}, FOLLOWED[:half]),
            (b"413", {**chunked}, b"200000\r\n" + b"x" * 0x200000 + b"\r\n0\r\n\r\n"),
            (b"401", {"Webhook-Signature": "v1,\u00e9", **length}, FOLLOWED),
            (b"401", {**length}, FOLLOWED),
        ]:
            with self.subTest(want=want, headers=headers):
                self.assertEqual(ask(headers, body), want)
        self.assertEqual(ask({}, b"", "GET"), b"405")
        self.assertEqual(ask({}, b"", "BREW"), b"501")

    def test_wsgi(self) -> None:
        receiver = Receiver(SECRET, on_event=lambda event: None)

        def ask(body: bytes, **changes: Any) -> str:
            headers = signed("id", time.time(), FOLLOWED, SECRET).items()
            environ = {"HTTP_" + name.upper().replace("-", "_"): value for name, value in headers}
            statuses: List[str] = []
            environ.update(REQUEST_METHOD="POST", **{"wsgi.input": io.BytesIO(body)}, **changes)  # type: ignore[arg-type]
            receiver(environ, lambda status, headers: statuses.append(status))
            return statuses[0]

        self.assertEqual(ask(FOLLOWED, CONTENT_LENGTH=str(len(FOLLOWED))), "204 No Content")
        self.assertEqual(ask(FOLLOWED, **{"wsgi.input_terminated": True}), "204 No Content")
        self.assertEqual(ask(FOLLOWED, CONTENT_LENGTH="soon"), "401 Unauthorized")


class Streams(unittest.TestCase):
    def test_frames(self) -> None:
        for text, want in {
            "data: a\n\n": [("message", "a", "", None)],
            "data: a\r\n\r\ndata: b\n\n": [("message", "a", "", None), ("message", "b", "", None)],
            "data: a\ndata: b\n\n": [("message", "a\nb", "", None)],
            "event: x\nid: 7\ndata:  a\nretry: 250\n\ndata: b\n\n": [
                ("x", " a", "7", 0.25),
                ("message", "b", "7", None),
            ],
            ": hello\n\n\n\ndata\n\n": [("message", None, "", None), ("message", "", "", None)],
            "id: a\0b\ndata: a\nretry: soon\n\n": [("message", "a", "", None)],
            "data: a\n\ndata: b\n": [("message", "a", "", None)],
        }.items():
            self.assertEqual([tuple(one) for one in frames_of(io.BytesIO(text.encode()))], want)
        with self.assertRaises(ConnectionError):
            list(frames_of(io.BytesIO(b"data: " + b"x" * 9_000_000)))
        with self.assertRaises(ConnectionError):
            list(frames_of(io.BytesIO((b"data: " + b"x" * 999 + b"\n") * 9_000)))

    @staticmethod
    def frame(identifier: str, name: str) -> bytes:
        data = {
            "headers": {"webhook-id": f"d-{identifier}"},
            "body": FOLLOWED.decode().replace("fox", name),
        }
        return f"id: {identifier}\nevent: channel.followed\ndata: {json.dumps(data)}\n\n".encode()

    def test_it_goes_on_where_it_was(self) -> None:
        gap = {"from": "2026-01-01T00:00:00.000Z", "to": "2026-01-02T00:00:00.000Z"}
        answers: List[Answer] = [
            (200, {"Content-Type": "text/event-stream"}, b"retry: 1\n\n"),
            (503, {"Retry-After": "0"}, {}),
            (
                200,
                {"Content-Type": "text/event-stream"},
                self.frame("1", "one") + self.frame("2", "two") + b"id: 3\nev",
            ),
            (429, {"Retry-After": "0"}, {}),
            (
                200,
                {"Content-Type": "text/event-stream"},
                f"id: 4\nevent: gap\ndata: {json.dumps(gap)}\n\n".encode(),
            ),
            (403, {}, {"message": "no", "code": "stream_disabled"}),
        ]
        interruptions: List[float] = []
        found: List[Any] = []
        with ScriptedServer(lambda _: answers[min(len(server.asked), len(answers)) - 1]) as server:
            onair = Client(server.url, token="t")
            with self.assertRaises(OnairError) as caught:
                for event in onair.stream(
                    shard="1/2", on_interrupted=lambda reason, wait: interruptions.append(wait)
                ):
                    if event["type"] == "channel.followed":
                        name = event["data"]["follower"]["username"]
                        found.append((event["position"], event["delivery"]["id"], name))
                    elif event["type"] == "gap":
                        found.append((event["position"], event["data"]))
        self.assertEqual(caught.exception.code, "stream_disabled")
        self.assertEqual(found, [("1", "d-1", "one"), ("2", "d-2", "two"), ("4", gap)])
        self.assertEqual(len(interruptions), 5)
        date = "2026-01-14T16:08:06+00:00"
        self.assertEqual(
            [(one.headers["last-event-id"], one.query.get("after"), one.query["shard"]) for one in server.asked],
            [
                (None, None, ["1/2"]),
                (None, [date], ["1/2"]),
                (None, [date], ["1/2"]),
                ("2", None, ["1/2"]),
                ("2", None, ["1/2"]),
                ("4", None, ["1/2"]),
            ],
        )

    def endless(self) -> ScriptedServer:
        content = [self.frame("1", "one"), lambda: server.ended.wait(60)]
        server = ScriptedServer(lambda _: (200, {"Content-Type": "text/event-stream"}, content))
        return server

    def test_a_server_cannot_ask_for_a_wait_without_end(self) -> None:
        waits: List[float] = []
        far = "Fri, 31 Dec 9999 23:59:59 GMT"
        with ScriptedServer(lambda _: (503, {"Retry-After": far}, {})) as server:

            def end(_: BaseException, wait: float) -> None:
                waits.append(wait)
                stream.close()

            stream = Client(server.url, token="t").stream(on_interrupted=end)
            self.assertEqual(list(stream), [])
        self.assertEqual(len(waits), 1)
        self.assertTrue(3_600 <= waits[0] <= 4_000, waits)

    def test_another_thread_ends_it(self) -> None:
        with self.endless() as server:
            stream = Client(server.url, token="t").stream()
            self.assertEqual(next(stream)["position"], "1")
            threading.Timer(0.2, stream.close).start()
            started = time.monotonic()
            self.assertEqual(list(stream), [])
            self.assertLess(time.monotonic() - started, 20)
            self.assertEqual(stream.position, "1")

    def test_asyncio(self) -> None:
        async def main(url: str) -> List[str]:
            found: List[str] = []

            async def read() -> None:
                async for event in Client(url, token="t").stream():
                    found.append(event["position"])

            task = asyncio.create_task(read())
            while not found:
                await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            return found

        with self.endless() as server:
            started = time.monotonic()
            self.assertEqual(asyncio.run(main(server.url)), ["1"])
            # The end of the loop waits for its threads.
            self.assertLess(time.monotonic() - started, 20)

    def test_a_server_that_is_away(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            port = unused.getsockname()[1]
        reasons: List[Exception] = []
        stream = Client(f"http://127.0.0.1:{port}", token="t").stream(
            on_interrupted=lambda reason, wait: (reasons.append(reason), stream.close())  # type: ignore[func-returns-value]
        )
        self.assertEqual(list(stream), [])
        self.assertIsInstance(reasons[0], (OSError, http.client.HTTPException))


if __name__ == "__main__":
    unittest.main()
