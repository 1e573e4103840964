"""How django-redis gets the site's connections: the backend of `CACHES["store"]` in settings.py."""

from django_redis import pool as django_redis_pool
from django_redis.cache import RedisCache

from retwis_site.store.connection import topology
from retwis_site.store.connection.transport import Transport


class ConnectionFactory(django_redis_pool.ConnectionFactory):  # type: ignore[misc]
    """Makes django-redis's client: the transport for REDIS_TOPOLOGY."""

    def connect(self, url: str) -> Transport:
        return topology.transport(self.pool_cls_kwargs)


class StoreConnections(RedisCache):  # type: ignore[misc]
    """The backend of `CACHES["store"]`. It gives `get_redis_connection` its connections; it is never a cache."""

    def clear(self) -> bool:
        raise NotImplementedError("CACHES['store'] holds the site itself: clear() would be FLUSHDB")
