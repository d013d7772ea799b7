"""The guard in front of the server of the page: it refuses requests that do not come from the page of this server.

Every request must name this machine as its `Host`, so that a foreign name that leads here (DNS rebinding) opens
nothing. A request with an `Origin` must come from the same origin; requests that change something must have one. A
request below /api/ must carry the token of this process, which only the page has. Bodies are JSON, small, and arrive in
time. Every response forbids scripts, styles and connections of other origins.
"""

import asyncio
import hmac
import ipaddress
import json
import re
from collections.abc import Mapping
from typing import Any

TOKEN_HEADER = "x-jaxgames-token"
MAX_BODY_BYTES = 64 * 1024
MAX_GAME_BYTES = 1024 * 1024  # of the body of LOAD_PATH, which has a whole game in it
LOAD_PATH = "/api/load"
BODY_SECONDS = 10.0  # in which a body must have arrived
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

# NAME or NAME:PORT; the name is in brackets if it is an IPv6 address
HOST = re.compile(r"(\[(?P<address>[^\[\]]*:[^\[\]]*)\]|(?P<name>[^\[\]:]+))(:[0-9]+)?")

Scope = dict[str, Any]


class Refused(Exception):
    """A request that is refused, with the status of HTTP and the reason for people."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def is_loopback(host: str) -> bool:
    """Returns whether a name or an address of a computer means this computer."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """ASGI middleware that checks every request and adds `HEADERS` to every response."""

    def __init__(
        self, app: Any, *, token: str, names: frozenset[str] = LOOPBACK_NAMES, addresses: bool = False
    ) -> None:
        """
        Args:
          app: the application behind the guard.
          token: of this process; requests below /api/ carry it in the header `TOKEN_HEADER`.
          names: the values of `Host` that are let through, in lower case and without ports.
          addresses: whether any IP address is let through too; no foreign name can lead to one.
        """
        self._app = app
        self._token = token
        self._names = names
        self._addresses = addresses

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded_send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *added]}
            await send(message)

        try:
            self._check(scope["method"], scope["path"], _headers(scope))
            limit = MAX_GAME_BYTES if scope["path"] == LOAD_PATH else MAX_BODY_BYTES
            body = await _body(receive, _headers(scope), limit) if scope["method"] == "POST" else b""
        except Refused as refused:
            await _refuse(guarded_send, refused)
            return
        await self._app(scope, _replayed(body, receive), guarded_send)

    def _check(self, method: str, path: str, headers: Mapping[str, list[str]]) -> None:
        """Raises Refused for a request that the page of this server does not send."""
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self._is_known(hosts[0]):
            allowed = ", ".join(sorted(self._names))
            raise Refused(400, f"the Host of a request must be one of {allowed}, not {', '.join(hosts) or 'missing'}")
        origins = headers.get("origin", [])
        if origins and origins != [f"http://{hosts[0]}"]:
            raise Refused(403, f"requests from {', '.join(origins)} are refused: open http://{hosts[0]}/ itself")
        if method not in ("GET", "HEAD", "POST"):
            raise Refused(405, f"the method must be GET or POST, not {method}")
        if path.startswith("/api/"):
            token = headers.get(TOKEN_HEADER, [])
            if len(token) != 1 or not hmac.compare_digest(token[0].encode(), self._token.encode()):
                raise Refused(403, "the token is missing or of another process: load the page again")
        if method == "POST":
            if not origins:
                raise Refused(403, "a POST must name its Origin, as all browsers do")
            kind = headers.get("content-type", [""])[0].partition(";")[0].strip().lower()
            if kind != "application/json":
                raise Refused(415, f"the Content-Type must be application/json, not {kind or 'missing'}")

    def _is_known(self, host: str) -> bool:
        """Returns whether requests with this `Host` are let through."""
        parts = HOST.fullmatch(host)
        if parts is None:
            return False
        name = (parts["address"] or parts["name"]).lower()
        if name in self._names:
            return True
        try:
            return self._addresses and bool(ipaddress.ip_address(name))
        except ValueError:
            return False


def _headers(scope: Scope) -> dict[str, list[str]]:
    """Returns the values of each header, by its name in lower case."""
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


async def _body(receive: Any, headers: Mapping[str, list[str]], limit: int) -> bytes:
    """Returns the whole body. Raises Refused if it has more bytes than `limit`, or does not arrive in time."""
    too_long = Refused(413, f"a body may have {limit:,} bytes at most")
    declared = headers.get("content-length", ["0"])[0]
    if not declared.isdecimal() or len(declared) > 9 or int(declared) > limit:
        raise too_long
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refused(400, "the body ended early")
                body += message.get("body", b"")
                if len(body) > limit:
                    raise too_long
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise Refused(408, f"the body did not arrive in {BODY_SECONDS:g} seconds") from None


def _replayed(body: bytes, receive: Any) -> Any:
    """Returns a `receive` of ASGI that gives a body that was read already, and then what else arrives."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> dict[str, Any]:
        return waiting.pop() if waiting else await receive()

    return replayed


async def _refuse(send: Any, refused: Refused) -> None:
    """Sends the reason of a refusal as JSON."""
    body = json.dumps({"error": refused.reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refused.status in (408, 413):
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
