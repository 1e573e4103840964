"""How each kind of key grows: how many keys of it there are, and what makes one of them longer.

A measured difference would need an earlier sample, kept somewhere, and the key browser writes nothing. A developer also
wants to know it before there are many users.
"""

from dataclasses import dataclass

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Growth:
    number: Promise  # how many keys
    length: Promise  # how long one of them becomes


ONE = _("One key")
SHARDS = _("A fixed number of keys, which a setting chooses")
EACH_USER = _("One key for each user")
SOME_USERS = _("At most one key for each user")
EACH_POST = _("One key for each post")
SOME_POSTS = _("At most one key for each post")
EACH_THREAD = _("One key for each thread")
EACH_TAG = _("One key for each tag")
EACH_RANGE = _("At most 1024 keys for 16,384 posts")
EACH_64_RANGES = _("At most 1024 keys for a million posts")
EACH_YEAR = _("One key for each year")
EACH_REPORT = _("One key for each report")
EACH_INVITATION = _("At most one key for each invitation; it expires")
EACH_ACTION = _("One key for each recent action; it expires")
NO_KEY = _("None, while nothing is damaged")
NOT_KNOWN = _("Not known")

FIXED = _("stays small")
BY_USERS = _("longer with each user")
BY_NAMES = _("longer with each word of a name")
BY_LOGINS = _("longer with each device on which somebody is logged in")
BY_FOLLOWS = _("longer with each follow")
BY_OWN_POSTS = _("longer with each post of the user")
BY_LIKES = _("longer with each like")
BY_REPOSTS = _("longer with each repost")
BY_CHOICES = _("longer with what the user chooses")
BY_REPLIES = _("longer with each reply")
BY_QUOTES = _("longer with each quote")
BY_EDITS = _("longer with each edit")
BY_TAGS = _("longer with each tag")
BY_TAGGED = _("longer with each post that has the tag")
BY_POSTS = _("longer with each post")
BY_TEXT = _("as long as its text")
A_THOUSAND = _("about 1000 entries at most")
TWO_THOUSAND = _("about 2000 entries at most")
BY_ACTS = _("longer with each act of staff")
BY_OPEN = _("as long as there is work to do")
BY_INVITES = _("longer with each open invitation")
BY_JOINED = _("longer with each person who joins by the invitation")
BY_REPORTS = _("longer with each report")
BY_APPLICATIONS = _("longer with each application")
BY_NUMBER = _("a member for each action in the time of the limit")

GROWTH = {
    "next_user_id": Growth(ONE, FIXED),
    "next_post_id": Growth(ONE, FIXED),
    "users": Growth(ONE, BY_USERS),
    "user:*": Growth(EACH_USER, BY_LOGINS),
    "auths": Growth(ONE, BY_LOGINS),
    "users_by_time": Growth(ONE, BY_USERS),
    "users_by_name": Growth(ONE, BY_NAMES),
    "users_by_followers": Growth(ONE, BY_USERS),
    "following:*": Growth(SOME_USERS, BY_FOLLOWS),
    "followers:*": Growth(SOME_USERS, BY_FOLLOWS),
    "post:*": Growth(EACH_POST, BY_TEXT),
    "posts:*": Growth(SOME_USERS, A_THOUSAND),
    "timeline": Growth(ONE, A_THOUSAND),
    "timeline:[0-9]*": Growth(SHARDS, A_THOUSAND),
    "recent": Growth(ONE, TWO_THOUSAND),
    "recent:[0-9]*": Growth(SHARDS, TWO_THOUSAND),
    "updates:*": Growth(SOME_USERS, BY_OWN_POSTS),
    "likes:*": Growth(SOME_USERS, BY_LIKES),
    "liked_by:*": Growth(SOME_POSTS, BY_LIKES),
    "reposts:*": Growth(SOME_USERS, BY_REPOSTS),
    "reposted_by:*": Growth(SOME_POSTS, BY_REPOSTS),
    "bookmarks:*": Growth(SOME_USERS, BY_CHOICES),
    "blocked:*": Growth(SOME_USERS, BY_CHOICES),
    "blocked_by:*": Growth(SOME_USERS, BY_CHOICES),
    "muted:*": Growth(SOME_USERS, BY_CHOICES),
    "muted_reposts:*": Growth(SOME_USERS, BY_CHOICES),
    "muted_threads:*": Growth(SOME_USERS, BY_CHOICES),
    "muted_words:*": Growth(SOME_USERS, BY_CHOICES),
    "tags_of:*": Growth(SOME_USERS, BY_CHOICES),
    "thread:*": Growth(EACH_THREAD, BY_REPLIES),
    "replies_to:*": Growth(SOME_POSTS, BY_REPLIES),
    "quotes_of:*": Growth(SOME_POSTS, BY_QUOTES),
    "edits:*": Growth(SOME_POSTS, BY_EDITS),
    "tag:*": Growth(EACH_TAG, BY_TAGGED),
    "tags": Growth(ONE, BY_TAGS),
    "tags_by_name": Growth(ONE, BY_TAGS),
    "postings:*": Growth(EACH_RANGE, BY_POSTS),
    "posting_bits:*": Growth(EACH_64_RANGES, FIXED),
    "posting_ranges": Growth(ONE, BY_POSTS),
    "search_index": Growth(ONE, BY_POSTS),
    "notices:*": Growth(SOME_USERS, A_THOUSAND),
    "staff": Growth(ONE, BY_ACTS),
    "log:*": Growth(EACH_YEAR, BY_ACTS),
    "acts:*": Growth(SOME_USERS, BY_ACTS),
    "appeals": Growth(ONE, BY_OPEN),
    "applications": Growth(ONE, BY_APPLICATIONS),
    "invites:*": Growth(SOME_USERS, BY_INVITES),
    "uses:*": Growth(EACH_INVITATION, BY_JOINED),
    "blocked_names": Growth(ONE, BY_ACTS),
    "skeletons": Growth(ONE, BY_USERS),
    "site": Growth(ONE, BY_TEXT),
    "report:*": Growth(EACH_REPORT, BY_TEXT),
    "reports": Growth(ONE, BY_OPEN),
    "reports_about:*": Growth(SOME_USERS, BY_REPORTS),
    "reports_by:*": Growth(SOME_USERS, BY_REPORTS),
    "outbox": Growth(ONE, BY_OPEN),
    "outbox:[0-9]*": Growth(SHARDS, BY_OPEN),
    "attempts": Growth(ONE, BY_OPEN),
    "set_aside": Growth(ONE, BY_OPEN),
    "lease:*": Growth(EACH_ACTION, FIXED),
    "idem:*": Growth(EACH_ACTION, FIXED),
    "reset:*": Growth(EACH_ACTION, FIXED),
    "inspected:*": Growth(EACH_ACTION, FIXED),
    "throttle:*": Growth(EACH_ACTION, BY_NUMBER),
    "damaged:*": Growth(NO_KEY, BY_TEXT),
    "health": Growth(ONE, FIXED),
    "worker_seen": Growth(ONE, FIXED),
    "schema": Growth(ONE, FIXED),
    **dict.fromkeys(settings.KEY_KINDS, Growth(NOT_KNOWN, NOT_KNOWN)),
}
