"""A site with the inspector."""

import pytest

MIDDLEWARE = "retwis_site.inspector.middleware.InspectorMiddleware"
BEFORE = "django.middleware.common.CommonMiddleware"


@pytest.fixture
def inspected(settings):
    """The site as INSPECT=1 makes it."""
    place = settings.MIDDLEWARE.index(BEFORE) + 1
    settings.INSPECT = True
    settings.MIDDLEWARE = [*settings.MIDDLEWARE[:place], MIDDLEWARE, *settings.MIDDLEWARE[place:]]
