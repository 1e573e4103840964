"""Django's messages ("Posted."), which travel in a cookie: no sessions table."""

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage


class FlashStorage(CookieStorage):
    cookie_name = f"{settings.COOKIE_PREFIX}messages"
