"""Mutants of apps: codes and tokens."""

from tests.mutants.mutant import DELETED, EARLY, Mutant

REPOSITORY = "accounts/apps/repository.py"
ONE_TOKEN = ("tests/protocols/test_tokens.py::test_a_code_gives_one_token_at_most_and_none_outlives_what_ends_it",)

MUTANTS = [
    Mutant(
        "code: it serves anyone who has read it",
        REPOSITORY,
        "        if code.value is None or not self._store.unlink(keys.code(digest)):\n            return None\n",
        """        if code.value is None:
            return None
        self._store.unlink(keys.code(digest))
""",
        ONE_TOKEN,
    ),
    Mutant(
        "token: it has the generation of its beginning, not of the consent",
        REPOSITORY,
        "        digest = digest_of(token)\n        user = keys.user(code.uid)\n",
        """        digest = digest_of(token)
        user = keys.user(code.uid)
        now = self._store.hget(user, "generation") or ""
        code = Code(code.uid, now, code.app, code.scopes, code.redirect_uri)
""",
        ONE_TOKEN,
    ),
    Mutant(
        f"token: {EARLY}",
        REPOSITORY,
        """            pipe.hset(user, {TOKENS.field(digest): new_value(code.app, code.scopes, code.generation)})
            stored = pipe.hgetall(user)
""",
        """            stored = pipe.hgetall(user)
            pipe.execute()
            pipe.hset(user, {TOKENS.field(digest): new_value(code.app, code.scopes, code.generation)})
""",
        (f"{DELETED}[she allows an app]",),
    ),
    Mutant(
        "code: it is not noted which token it has given",
        "accounts/apps/oauth.py",
        'self.request.form["code"], self.request.user.uid, token["access_token"])\n',
        'self.request.form["code"], self.request.user.uid, "")\n',
        ("tests/accounts/apps/test_oauth.py::test_a_user_allows_an_app_and_it_fetches_a_token_once",),
    ),
    Mutant(
        "token: one field too many of an ended one is left",
        REPOSITORY,
        "for beginning in (TOKENS.first, TOKENS.second)]",
        "for beginning in (TOKENS.first,)]",
        ("tests/protocols/test_tokens.py::test_a_code_that_is_exchanged",),
    ),
]
