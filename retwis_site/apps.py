from django.apps import AppConfig
from django.core.cache import close_caches
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, reset_queries
from django.urls import register_converter


class RetwisSiteConfig(AppConfig):
    name = "retwis_site"

    def ready(self) -> None:
        from retwis_site import checks  # noqa: F401  registers them
        from retwis_site.http.url_converters import IdConverter, UsernameConverter

        register_converter(UsernameConverter, "username")
        register_converter(IdConverter, "id")

        # Django looks after its database at both ends of every request; there is none.
        for signal in (request_started, request_finished):
            signal.disconnect(close_old_connections)
        request_started.disconnect(reset_queries)
        # Nor is there a cache; what stands in CACHES are the connections to the store, which stay open.
        request_finished.disconnect(close_caches)
