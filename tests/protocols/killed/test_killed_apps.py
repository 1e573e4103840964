"""Apps: their registration, a user's consent, codes and tokens, and a person whom an app registers, killed between any
two commands."""

from django.contrib.auth import authenticate
from django.core.management import call_command
from django.test import Client

from accounts.apps.repository import OUT_OF_BAND, Apps, Code, Tokens, own_token
from accounts.signing_in.tokens import TOKENS
from retwis_site.store.client import connect
from tests.support.apps import opens
from tests.support.people import PASSWORD
from tests.support.processes.scenes import ALICE, kill_at_every_command

FEW = 3  # commands of an act that asks for little


def register_app(scene):
    """An app, and the fields with which it shows who it is."""
    scene.app, secret = Apps(connect()).register("Tusky", "", [OUT_OF_BAND], ["read", "write"])
    scene.code = Code(ALICE, "", scene.app.id, ("read",), OUT_OF_BAND)
    return {"client_id": scene.app.id, "client_secret": secret}


def standing(scene):
    return [*TOKENS.standing_in(scene.raw.hgetall("user:1")).values()]


def without_expiry(scene):
    return [key for key in scene.raw.keys("*app:*") + scene.raw.keys("*code:*") if scene.raw.ttl(key) < 0]


def test_a_code_that_an_app_exchanges(scene, capsys):
    def work(scene):
        form = {**register_app(scene), "grant_type": "authorization_code", "redirect_uri": OUT_OF_BAND}
        scene.form = {**form, "code": Tokens(connect()).new_code(scene.code)}
        return {"path": "/oauth/token", "form": scene.form}

    def check(scene, where, through):
        given, is_left = standing(scene), bool(scene.raw.keys("code:*"))
        assert len(given) <= (not is_left), where
        assert len(given) == 1 or not through, where
        assert Client().post("/oauth/token", scene.form).status_code == (200 if is_left else 400), where
        assert standing(scene) == [] or not through, where  # somebody has copied the code
        assert without_expiry(scene) == [], where

    kill_at_every_command(scene, capsys, work, check, fewest=FEW)


def test_a_token_that_an_app_revokes(scene, capsys):
    def work(scene):
        shown = register_app(scene)
        scene.token = Tokens(connect()).issue(scene.code)
        return {"path": "/oauth/revoke", "form": {**shown, "token": scene.token}}

    def check(scene, where, through):
        assert opens(connect(), scene.token) == (len(standing(scene)) == 1), where
        assert not (through and opens(connect(), scene.token)), where

    kill_at_every_command(scene, capsys, work, check, fewest=FEW)


def test_a_user_who_ends_what_all_apps_may_do(scene, capsys):
    def work(scene):
        register_app(scene)
        scene.tokens = [Tokens(connect()).issue(scene.code) for _ in range(3)]
        return {"path": "/settings/apps/", "form": {"revoke": "all"}, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        left = sum(opens(connect(), token) for token in scene.tokens)
        assert left == len(standing(scene)) == 0 or not through, where

    kill_at_every_command(scene, capsys, work, check)


def test_a_consent(scene, capsys):
    def work(scene):
        register_app(scene)
        asked = f"client_id={scene.app.id}&response_type=code&scope=read&redirect_uri={OUT_OF_BAND}"
        return {"path": f"/oauth/authorize?{asked}", "form": {"allow": "1"}, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        assert len(scene.raw.keys("code:*")) == 1 or not through, where
        assert standing(scene) == without_expiry(scene) == [], where

    kill_at_every_command(scene, capsys, work, check)


def test_an_app_that_registers(scene, capsys):
    """Between its two commands it has no expiry: `cleanup` gives it one."""

    def work(scene):
        return {"path": "/api/v1/apps", "form": {"client_name": "Tusky", "redirect_uris": OUT_OF_BAND}}

    def check(scene, where, through):
        assert len(scene.raw.keys("app:*")) == 1 or not through, where
        call_command("cleanup", verbosity=0)
        assert without_expiry(scene) == [], where

    kill_at_every_command(scene, capsys, work, check, fewest=FEW)


def test_a_person_whom_an_app_registers(scene, capsys):
    form = {"username": "Dora", "email": "dora@example.com", "password": PASSWORD, "agreement": "true"}

    def work(scene):
        register_app(scene)
        headers = {"Authorization": f"Bearer {own_token(scene.app, scene.app.scopes)}"}
        return {"path": "/api/v1/accounts", "form": form, "headers": headers}

    def check(scene, where, through):
        login = authenticate(None, username="dora", password=PASSWORD)
        assert login is not None or not through, where
        if login is None:
            assert not scene.raw.hexists("users", "dora"), where
            return
        given = TOKENS.standing_in(scene.raw.hgetall(f"user:{login.user.uid}")).values()
        assert len(given) == 1 or not through, where

    kill_at_every_command(scene, capsys, work, check)
