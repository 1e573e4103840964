"""The lines about relations in the file of a whole site."""

from timeline.relations.block import BLOCK
from timeline.relations.bookmark import BOOKMARK
from timeline.relations.follow import FOLLOW
from timeline.relations.like import LIKE
from timeline.relations.lines.edge_lines import EdgeLines
from timeline.relations.lines.repost_lines import REPOSTS
from timeline.relations.mute import MUTE, MUTE_REPOSTS, MUTE_THREAD
from timeline.relations.tag_follow import TAG_FOLLOW
from timeline.relations.words.muted_words import MUTE_WORDS

FOLLOWS = EdgeLines(FOLLOW, "follower", "followed", "since").lines()
ABOUT_PEOPLE = (
    FOLLOWS,
    EdgeLines(BLOCK, "user", "blocked", "since").lines(),
    EdgeLines(MUTE, "user", "muted", "until").lines(),
    EdgeLines(MUTE_REPOSTS, "user", "muted", "until").lines(),
    EdgeLines(MUTE_WORDS, "user", "words", "until").lines(),
    EdgeLines(TAG_FOLLOW, "user", "tag", "since").lines(),
)
# They name posts, so they come after the posts.
LIKES = EdgeLines(LIKE, "user", "post", "time").lines()
ABOUT_POSTS = (
    LIKES,
    REPOSTS,
    EdgeLines(BOOKMARK, "user", "post", "time").lines(),
    EdgeLines(MUTE_THREAD, "user", "thread", "since").lines(),
)
