"""The caches of a process are bounded in size and age."""

from retwis_site.store.local_cache import Memory


def test_a_full_cache_drops_its_oldest_entry():
    memory = Memory(size=2, seconds=60)
    memory.put("a", 1)
    memory.put("b", 2)
    memory.put("a", 3)
    memory.put("c", 4)
    assert [memory.get(key) for key in "abc"] == [3, None, 4]


def test_an_entry_expires(monkeypatch):
    memory = Memory(size=2, seconds=5)
    monkeypatch.setattr("retwis_site.store.local_cache.time.monotonic", lambda: 100.0)
    memory.put("a", 1)
    monkeypatch.setattr("retwis_site.store.local_cache.time.monotonic", lambda: 104.9)
    assert memory.get("a") == 1
    monkeypatch.setattr("retwis_site.store.local_cache.time.monotonic", lambda: 105.1)
    assert memory.get("a") is None


def test_forgotten_entries_are_gone_and_unknown_keys_are_no_error():
    memory = Memory(size=2, seconds=60)
    memory.forget("never there")
    memory.put("a", 1)
    memory.forget("a")
    assert memory.get("a") is None
    memory.put("b", 1)
    Memory.clear_all()
    assert memory.get("b") is None
