"""Posts that the tests of this room read."""

import pytest

from retwis_site.store.local_cache import Memory
from tests.support.stored_keys import publish
from tests.support.stored_posts import write_posts
from timeline.relations.relations import Follows


@pytest.fixture
def posts(store, alice, bob, carol, raw):
    """Posts 1, 4, 7 by alice, 2, 5, 8 by bob, 3, 6, 9 by carol."""
    for pid in range(1, 10):
        write_posts(raw, (pid - 1) % 3 + 1, [pid])
    Memory.clear_all()


@pytest.fixture
def pid(store, raw, alice, bob, carol):
    """A post of bob's, whom alice follows, as she does carol."""
    for uid in (2, 3):
        Follows(store).follow(1, uid)
    publish(raw, store, carol, "By carol")
    return publish(raw, store, bob, "The #finale was grand")
