"""The site, used over the connection of a test."""

import pytest

from tests.support.people import PASSWORD


@pytest.fixture
def use_the_site(browser):
    """`use_the_site()`: Dora registers, posts "in private" as post 1, and sees it. Returns her browser."""

    def use():
        client = browser()
        form = {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD}
        assert client.post("/register/", form).status_code == 302
        assert client.post("/post/", {"body": "in private", "token": "t"}).status_code == 302
        for url in ("/", "/timeline/"):
            assert "in private" in client.get(url).content.decode()
        return client

    return use
