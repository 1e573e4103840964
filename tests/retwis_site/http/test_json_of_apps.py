"""A body of JSON may say as much as a form: what is read of it takes as little memory, whoever sends it."""

import json
import tracemalloc

import pytest
from django.conf import settings

from retwis_site.http.apps import LONGEST_NAME, MOST_VALUES

pytestmark = pytest.mark.usefixtures("store")
ADDRESS = "/api/v1/custom_emojis"  # which anybody may ask, and which takes no parameters


def ask(client, sent, address=ADDRESS):
    return client.generic("GET", address, json.dumps(sent), "application/json")


@pytest.mark.parametrize(
    "sent",
    [
        {str(number): number for number in range(MOST_VALUES + 1)},
        {"id": [*range(MOST_VALUES)]},
        {"id": [None] * MOST_VALUES},
        {"id": [[[[1]]]] * (MOST_VALUES // 4)},
        {"id": [{}] * MOST_VALUES},
        {"x" * (LONGEST_NAME + 1): 1},
        {"x" * LONGEST_NAME: [1]},
        {"a": {"x" * LONGEST_NAME: 1}},
    ],
    ids=["fields", "items", "nothings", "lists", "objects", "a name", "a name of a list", "a name within another"],
)
def test_too_many_values_and_too_long_names_are_a_400(client, sent):
    for address in (ADDRESS, "/api/v1/nothing"):
        assert ask(client, sent, address).status_code == (400 if address == ADDRESS else 404)
    assert client.post("/oauth/token", json.dumps(sent), "application/json").json()["error"] == "invalid_request"


def test_as_many_as_a_form_may_have_are_read(client):
    assert settings.DATA_UPLOAD_MAX_NUMBER_FIELDS == MOST_VALUES
    assert ask(client, {str(number): number for number in range(MOST_VALUES)}).status_code == 200
    assert ask(client, {"x" * LONGEST_NAME: 1, "id": [1] * 500}).status_code == 200


@pytest.mark.parametrize("sent", [None, ["home"], "text", 1])
def test_what_is_no_object_has_no_parameters_since_some_apps_send_null(client, sent):
    assert ask(client, sent).status_code == 200


def test_a_name_is_not_written_once_for_each_value(client):
    """A megabyte could else become tens of gigabytes."""
    sent = {"x" * 100_000: [{"": 1}] * 300}
    tracemalloc.start()
    try:
        answer = ask(client, sent)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert answer.status_code == 400
    assert peak < 4_000_000
