"""Code that gives a fresh process a fake store."""

FAKE = """
import fakeredis
fake = {"connection_class": fakeredis.FakeRedisConnection, "server": fakeredis.FakeServer()}
settings.CACHES["store"]["OPTIONS"]["CONNECTION_POOL_KWARGS"] = fake
"""
