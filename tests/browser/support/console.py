"""What Chromium complains of: a page's errors and warnings, requests that fail or go to strangers."""

from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Request

LEFT = "net::ERR_ABORTED"  # somebody went on to another page meanwhile
CUT = "net::ERR_INTERNET_DISCONNECTED"
BLOCKED = "Service Worker registration blocked by Playwright"  # most windows have none
POLLS = ("/new/", "/notifications/number/")  # an open page asks every 15 seconds


class Console:
    """Everything that was said in the windows it watches."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._said: list[str] = []
        self._expected: list[str] = []
        self._is_cut = False

    def watch(self, context: BrowserContext) -> None:
        context.on("console", self._hear)
        context.on("weberror", lambda error: self._said.append(f"uncaught: {error.error}"))
        context.on("request", self._look_at)
        context.on("requestfailed", self._failed)

    def expects(self, status: int, path: str) -> None:
        """Chromium complains of every answer with an error's status; this one is part of the story."""
        self._expected.append(f"{path}: Failed to load resource: the server responded with a status of {status} (")

    def expects_no_connection(self) -> None:
        """From now on requests fail, since the test has cut the connection."""
        self._is_cut = True

    def expects_an_outage(self, *paths: str) -> None:
        """These paths answer 503, and so may what an open page asks for by itself."""
        for path in (*paths, *POLLS):
            self.expects(503, path)

    def settle(self, context: BrowserContext) -> None:
        """Wait until what its pages have said by now has arrived."""
        for page in context.pages:
            page.title()

    def complaints(self) -> list[str]:
        """All that no story expects."""
        return [line for line in self._said if not line.startswith(tuple(self._expected))]

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and message.text != BLOCKED:
            if self._is_cut and CUT in message.text:
                return
            path = urlsplit(message.location["url"]).path
            self._said.append(f"{path}: {message.text}")

    def _look_at(self, request: Request) -> None:
        if not request.url.startswith(f"{self._origin}/"):
            self._said.append(f"asked a stranger: {request.url}")

    def _failed(self, request: Request) -> None:
        if request.failure not in (LEFT, CUT if self._is_cut else LEFT):
            self._said.append(f"{urlsplit(request.url).path}: {request.failure}")
