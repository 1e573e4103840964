"""OAuth 2 by Authlib's server, on Redis: what it asks of clients, codes and tokens is answered by the repository.

Authlib asks for models of an ORM only in methods that are written anew here. A token never expires by itself: it ends
when its user or its app ends it, or when nobody has used the app for 400 days.
"""

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from authlib.integrations.django_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, InvalidRequestError, InvalidScopeError, OAuth2Payload, OAuth2Request
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, ClientCredentialsGrant
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property

from accounts.apps.repository import App, Apps, Code, Granting, Tokens, own_token, read_own_token
from accounts.signing_in.tokens import DEFAULT_SCOPES, SCOPES, covers
from accounts.users.repository import uid_in
from retwis_site.http.apps import JSON, SentTexts, Unreadable, sent_by, sent_in_body
from retwis_site.store.client import connect
from retwis_site.store.ids import digest_of

# Characters as the way of a visitor to the login has them, encoded twice: nginx takes headers of 4 KB.
LONGEST_STATE = 2000
IN_BODY, BASIC = "client_secret_post", "client_secret_basic"  # how an app shows its secret


class Client(ClientMixin):  # type: ignore[misc]
    """An app, as Authlib asks about it."""

    def __init__(self, app: App) -> None:
        self.app = app

    def get_default_redirect_uri(self) -> None:
        """An app always says where to."""

    def get_allowed_scope(self, scope: str | None) -> str | None:
        """None when the app may not ask for one of them. Without any, `read`."""
        asked = scope.split() if scope else DEFAULT_SCOPES
        return " ".join(asked) if all(covers(self.app.scopes, one) for one in asked) else None

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri in self.app.redirect_uris

    def check_client_secret(self, client_secret: str) -> bool:
        return self.app.has_secret(client_secret)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method in (IN_BODY, BASIC)

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in ("authorization_code", "client_credentials")


class TakenCode(NamedTuple):
    """A code, as Authlib asks about it."""

    code: Code
    code_challenge_method: str = "S256"

    def get_redirect_uri(self) -> str:
        return self.code.redirect_uri

    def get_scope(self) -> str:
        return " ".join(self.code.scopes)

    @property
    def code_challenge(self) -> str:
        return self.code.challenge


class StoredToken(NamedTuple):
    """A token that may be revoked."""

    token: str
    app: str

    def check_client(self, client: Client) -> bool:
        return self.app == client.app.id


# ---- The server


class Payload(OAuth2Payload):  # type: ignore[misc]
    def __init__(self, sent: SentTexts) -> None:
        self._sent = sent

    @cached_property
    def data(self) -> dict[str, str]:
        """Each scope once: 1 MB may name one 200,000 times, and a code is stored with them."""
        found = {name: self._sent.text(name) or "" for name in self._sent.names}
        return found | {"scope": " ".join(dict.fromkeys(found.get("scope", "").split()))}

    @property
    def datalist(self) -> defaultdict[str, list[str]]:
        return defaultdict(list, {name: self._sent.texts(name) for name in self._sent.names})


class Request(OAuth2Request):  # type: ignore[misc]
    """A request as form or JSON. The site's own settings decide about HTTPS, so Authlib is not asked whether it is."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.method, f"https://{request.get_host()}{request.path}", headers=request.headers)
        is_page = request.path_info.startswith("/oauth/authorize")
        self.payload = Payload(sent_by(request) if is_page else sent_in_body(request))

    @property
    def form(self) -> dict[str, str]:
        return self.payload.data


class Server(AuthorizationServer):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(None, None)
        self.register_token_generator("default", _new_token)
        self.register_grant(CodeGrant, [S256(required=False)])
        self.register_grant(OwnGrant)
        self.register_endpoint(Revocation)

    def query_client(self, client_id: str) -> Client | None:
        app = Apps(connect()).find(client_id)
        return None if app is None else Client(app)

    def save_token(self, token: object, request: object) -> None:
        """The generator has saved it: a token begins with its commit."""

    def create_oauth2_request(self, request: HttpRequest) -> Request:
        return Request(request)

    def validate_requested_scope(self, scope: str | None) -> None:
        if scope and not set(SCOPES).issuperset(scope.split()):
            raise InvalidScopeError

    def handle_response(self, status: int, payload: Any, headers: list[tuple[str, str]]) -> HttpResponse:
        answer: HttpResponse = super().handle_response(status, payload, headers)
        if isinstance(payload, dict):
            answer["Content-Type"] = JSON
        return answer


def _new_token(
    grant_type: str, client: Client, user: Code | None = None, scope: str | None = None, **_: object
) -> dict[str, object]:
    """The answer with a new token. For a user it is issued here. Raises InvalidScopeError."""
    allowed = client.get_allowed_scope(scope)
    if allowed is None:
        raise InvalidScopeError
    token = own_token(client.app, allowed.split()) if user is None else Tokens(connect()).issue(user)
    return token_entity(token, allowed.split())


def token_entity(token: str, scopes: Sequence[str]) -> dict[str, Any]:
    """Mastodon's entity Token."""
    return {"access_token": token, "token_type": "Bearer", "scope": " ".join(scopes), "created_at": int(time.time())}


class CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = [IN_BODY, BASIC]

    @staticmethod
    def validate_authorization_redirect_uri(request: OAuth2Request, client: Client) -> str:
        """Exactly one that the app has registered. Its text is not repeated: it may be anything. The state comes back
        with it."""
        if len(quote(quote(request.payload.state or "", ""), "")) > LONGEST_STATE:
            raise InvalidRequestError("The state is too long.")
        uri: str = request.payload.redirect_uri or ""
        if not client.check_redirect_uri(uri):
            raise InvalidRequestError("This app has not registered this redirect URI.")
        return uri

    def generate_authorization_code(self) -> str:
        request = self.request
        scopes, challenge = tuple(request.scope.split()), request.payload.data.get("code_challenge", "")
        who: Granting = request.user
        app, address = request.client.app.id, request.payload.redirect_uri
        code = Code(who.uid, who.generation, app, scopes, address, challenge, who.codes_ended)
        return Tokens(connect()).new_code(code)

    def save_authorization_code(self, code: str, request: object) -> None:
        """It was stored when it was made."""

    def query_authorization_code(self, code: str, client: Client) -> TakenCode | None:
        """Takes the code, whatever comes then: one who tries it does not get another try."""
        taken = Tokens(connect()).take_code(code)
        return TakenCode(taken) if taken is not None and taken.app == client.app.id else None

    def save_token(self, token: dict[str, str]) -> None:
        """The token is stored already. Its digest is noted with the code: a code that comes again ends the token."""
        Tokens(connect()).note_token(self.request.form["code"], self.request.user.uid, token["access_token"])

    def delete_authorization_code(self, authorization_code: object) -> None:
        """It was taken."""

    def authenticate_user(self, authorization_code: TakenCode) -> Code:
        """The user's hash decides whether the token stands, each time it is shown."""
        return authorization_code.code


class S256(CodeChallenge):  # type: ignore[misc]
    """PKCE, never as plain text."""

    DEFAULT_CODE_CHALLENGE_METHOD = "S256"
    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]


class OwnGrant(ClientCredentialsGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = [IN_BODY, BASIC]


class Revocation(RevocationEndpoint):  # type: ignore[misc]
    CLIENT_AUTH_METHODS: Sequence[str] = [IN_BODY, BASIC]

    def query_token(self, token: str, token_type_hint: str | None) -> StoredToken | None:
        uid, digest = uid_in(token), digest_of(token)
        found = Tokens(connect()).find(uid, digest) if uid is not None else None
        app = found.app if found else read_own_token(token)[0]
        return StoredToken(token, app) if app else None

    def revoke_token(self, token: StoredToken, request: Any) -> None:
        uid = uid_in(token.token)
        if uid is None:
            Apps(connect()).end_own_tokens(request.client.app)
        else:
            Tokens(connect()).end(uid, [digest_of(token.token)])


server = Server()


def answer_of(request: HttpRequest, ask: Any) -> HttpResponse:
    """What `ask` answers, a method of the server. An app may send what Authlib cannot read."""
    try:
        answer: HttpResponse = ask(request)
    except (ValueError, Unreadable):
        error = InvalidRequestError("The request cannot be read.")
        return server.handle_response(*error())
    return answer
