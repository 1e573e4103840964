"""Everything that was rendered or worded in a language is forgotten, so that other translations show."""

from retwis_site.inspector import panel
from retwis_site.rendering import dates
from retwis_site.rendering.fragments import Fragment
from retwis_site.store.local_cache import Memory
from timeline.posts.html import post_cards


def forget_words():
    Memory.clear_all()
    Fragment.render_anew()
    dates._day.cache_clear()
    post_cards._young.cache_clear()
    post_cards._old.cache_clear()
    post_cards.phrases.cache_clear()
    panel._summary.cache_clear()
    panel._step_in_words.cache_clear()
