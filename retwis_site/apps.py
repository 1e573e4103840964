from django.apps import AppConfig
from django.core.cache import close_caches
from django.core.handlers.base import reset_urlconf
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, reset_queries
from django.urls import register_converter


class RetwisSiteConfig(AppConfig):
    name = "retwis_site"

    def ready(self) -> None:
        from retwis_site import checks  # noqa: F401  importing it registers the checks
        from retwis_site.http.url_converters import IdConverter, UsernameConverter

        register_converter(UsernameConverter, "username")
        register_converter(IdConverter, "id")

        # Django manages its database connections before and after every request; the site has no database.
        for signal in (request_started, request_finished):
            signal.disconnect(close_old_connections)
        request_started.disconnect(reset_queries)
        # The site has no cache either: CACHES holds the connections to the store, which stay open.
        request_finished.disconnect(close_caches)
        # The site has one list of addresses, which no request changes.
        request_finished.disconnect(reset_urlconf)
