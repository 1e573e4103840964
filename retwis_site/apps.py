from django.apps import AppConfig


class RetwisSiteConfig(AppConfig):
    name = "retwis_site"

    def ready(self) -> None:
        from retwis_site import checks  # noqa: F401  registers them
