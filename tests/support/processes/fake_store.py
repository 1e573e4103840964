"""A fake store for a fresh process."""

FAKE = """
import fakeredis
fake = {"connection_class": fakeredis.FakeRedisConnection, "server": fakeredis.FakeServer()}
settings.CACHES["store"]["OPTIONS"]["CONNECTION_POOL_KWARGS"] = fake
"""
