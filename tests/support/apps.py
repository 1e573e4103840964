"""An app of a user, as tests use it: calls of the API with a token."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.test import Client

from accounts.apps.repository import OUT_OF_BAND, Apps, Code, Tokens
from accounts.signing_in.viewer import AppToken, Viewer
from accounts.users.entities import NotSignedIn
from retwis_site.store import keys
from retwis_site.store.client import Store, connect
from tests.support.people import Login


class App:
    """What an app of `user` asks; of nobody without one. Each method returns the answer; `json` its content, and fails
    for another status than 200."""

    def __init__(self, user: Login | None = None, scopes: str = "read write follow push") -> None:
        self.client = Client(headers={"Authorization": f"Bearer {token_of(user, scopes)}"} if user else {})

    def ask(self, method: str, address: str, sent: dict[str, Any] | None = None, **headers: str) -> HttpResponse:
        if method == "GET":
            return self.client.get(address, sent or {}, headers=headers)
        return self.client.generic(
            method, address, _form(sent or {}), "application/x-www-form-urlencoded", headers=headers
        )

    def json(self, method: str, address: str, sent: dict[str, Any] | None = None, **headers: str) -> Any:
        answer = self.ask(method, address, sent, **headers)
        assert answer.status_code == 200, (answer.status_code, answer.content)
        return answer.json()


def token_of(user: Login, scopes: str = "read write follow push") -> str:
    """A token of a new app, as a user's consent makes it."""
    store = connect()
    app, _ = Apps(store).register("Tusky", "https://tusky.app", [OUT_OF_BAND], scopes.split())
    generation = str(store.hget(keys.user(user.user.uid), "generation") or "")
    return Tokens(store).issue(Code(user.user.uid, generation, app.id, app.scopes, OUT_OF_BAND))


def opens(store: Store, token: str) -> bool:
    """Whether a token stands."""
    try:
        return Viewer(store, AppToken(token)).require_user().is_authenticated
    except NotSignedIn:
        return False


def _form(sent: dict[str, Any]) -> str:
    return urlencode(sent, doseq=True)
