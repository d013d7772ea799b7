"""The guard in front of the server of the page: it refuses requests that do not come from the page of this server.

Every request must name this machine as its `Host`, so that a foreign name that leads here (DNS rebinding) opens
nothing. A request with an `Origin` must come from the same origin; requests that change something must have one, and a
body of JSON. A request below /api/ must carry the token of this process, which only the page has. Every response
forbids scripts, styles and connections of other origins.
"""

import hmac
import re
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse

TOKEN_HEADER = "x-jaxgames-token"

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

HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?", re.IGNORECASE)  # the names of this computer

Scope = dict[str, Any]


class Refused(Exception):
    """A request that is refused, with the status of HTTP and the reason for people."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Guard:
    """ASGI middleware that checks every request and adds `HEADERS` to every response."""

    def __init__(self, app: Any, *, token: str) -> None:
        """
        Args:
          app: the application behind the guard.
          token: of this process; requests below /api/ carry it in the header `TOKEN_HEADER`.
        """
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded_send(message: Any) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *added]}
            await send(message)

        try:
            self._check(scope["method"], scope["path"], Headers(scope=scope))
        except Refused as refused:
            await JSONResponse({"error": str(refused)}, refused.status)(scope, receive, guarded_send)
            return
        await self._app(scope, receive, guarded_send)

    def _check(self, method: str, path: str, headers: Headers) -> None:
        """Raises Refused for a request that the page of this server does not send."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or HOST.fullmatch(hosts[0]) is None:
            allowed = "localhost, 127.0.0.1 or [::1]"
            raise Refused(400, f"the Host of a request must be {allowed}, not {', '.join(hosts) or 'missing'}")
        origins = headers.getlist("origin")
        if origins and origins != [f"http://{hosts[0]}"]:
            raise Refused(403, f"requests from {', '.join(origins)} are refused: open http://{hosts[0]}/ itself")
        if method not in ("GET", "HEAD", "POST"):
            raise Refused(405, f"the method must be GET or POST, not {method}")
        if path.startswith("/api/"):
            token = headers.getlist(TOKEN_HEADER)
            if len(token) != 1 or not hmac.compare_digest(token[0].encode(), self._token.encode()):
                raise Refused(403, "the token is missing or of another process: load the page again")
        if method == "POST":
            if not origins:
                raise Refused(403, "a POST must name its Origin, as all browsers do")
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise Refused(415, f"the Content-Type must be application/json, not {kind or 'missing'}")
