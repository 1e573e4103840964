"""Every key that the site keeps in Redis, on one page. All that is told of a key elsewhere follows from this table.

A name such as `likes:<uid>` is a kind: one key for each user, `keys.likes(uid)`. `<uid>`, `<pid>`: decimal integers,
counted from 1 with INCR; with `POST_IDS=snowflake` made from the time, below 2^53. `<rid>`: when a report was made.
Each key begins with `REDIS_KEY_PREFIX`. *Official*: as in the Retwis of Redis's documentation. *Truth*: all other keys
can be rebuilt from these. Lists are caches: they may disappear at any moment, and the next read rebuilds them.

The words in which it is told are those of `kinds.py`, all of them. `ruff format` leaves this file alone, so that a kind
is a few lines.
"""

# ruff: noqa: F403, F405

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from retwis_site.store.kinds import *
from retwis_site.store.kinds import PREFIX as PREFIX

MINUTE, HOUR, DAY = 60, 3600, 24 * 3600
FIXED = _("stays small")
BY_USERS, BY_TEXT = _("longer with each user"), _("as long as its text")
BY_LOGINS = _("longer with each device on which somebody is logged in")
BY_FOLLOWS, BY_LIKES = _("longer with each follow"), _("longer with each like")
BY_REPOSTS = _("longer with each repost")
BY_CHOICES, BY_REPLIES = _("longer with what the user chooses"), _("longer with each reply")
BY_POSTS, BY_TAGS = _("longer with each post"), _("longer with each tag")
A_THOUSAND, TWO_THOUSAND = _("about 1000 entries at most"), _("about 2000 entries at most")
BY_ACTS, BY_REPORTS = _("longer with each act of staff"), _("longer with each report")
BY_WORK = _("as long as there is work to do")
BY_PICTURES = _("longer with each picture")
JOBS_ON_POST = "post:{member} fan:{member} del:{member} restore:{member} edit:{member} settle:{member} stone:{member}"
LINE_OF_LOG = Field("act:<id>", says="a line of the log until it is there")

# ---- people

next_user_id = One(
    "next_user_id", String(Value("", What.USER)), "a counter", FIXED, truth=True, official=True, shown=EVERYONE,
)
users = One(
    "users", Map(TEXT, USER), "lower-cased username -> uid", BY_USERS, truth=True, official=True, shown=EVERYONE,
    jobs="user:{member} auth:{member}",
)
user = OfId(
    "user:<uid>",
    Hash((
        Field("username", says="as typed", shown=EVERYONE),
        Field("password", says="Django hash"),
        Field("prepared_password", says="`<password> <hash>`: counts for this `password`, which is of another form"),
        Field("old_password", says="until the first login: the hash of another Retwis"),
        Field("auth", says="the secret of the account"),
        Field(
            "session:<secret>",
            says="`<since (unix s)>:<generation>:<browser>:<system>` of each session; behind it `/<way>`, when it was "
                 "not opened by a password alone",
        ),
        Field("used:<secret>", says="the hour of its last use, unix s"),
        Field("token:<digest>", says="`<since (unix s)>:<generation>:<app>:<scopes>` of each token of an app"),
        Field("token_used:<digest>", says="the hour of its last use, unix s"),
        Field("generation", says="sessions and tokens of another one have ended"),
        Field("codes_ended", says="changes when apps are ended: codes that were given before are worth nothing"),
        Field("reset_link", says="the digest of the newest link for a new password; others have ended"),
        Field(
            "recovery:<hash>", OWN_TIME, "when each recovery code was made, unix s; 0: it has set a password",
            line="recovery_code user hash made",
        ),
        Field("name", says="display name", shown=EVERYONE),
        Field("bio", shown=EVERYONE),
        Field(
            "colour", COLOUR, "of the picture, such as `red`; without it, it follows from the uid", EVERYONE,
            line="colour user colour",
        ),
        Field(
            "picture", PICTURE, "the digest of the profile picture; without it, the picture is of initials", EVERYONE,
            line="profile_picture user picture",
        ),
        Field(
            "header", PICTURE, "the digest of the wide picture above the profile", EVERYONE,
            line="profile_header user header",
        ),
        Field(
            "facts", JSON, "of the profile: JSON, a list of pairs of a label and a text or link", EVERYONE,
            line="facts user facts",
        ),
        Field(
            "verified_links", JSON, "those of its links that link back: JSON, address -> since when (unix s)", EVERYONE,
            line="verified_links user links",
        ),
        Field("language", says="a code, such as `de`", shown=COMMANDS),
        Field("needs_alt", TIME, "since when all pictures need a description", COMMANDS, line="needs_alt user since"),
        Field("seen", POST, "the highest post id that home has shown", COMMANDS),
        Field("noticed", TIME, "notices are read up to here, unix s", COMMANDS),
        Field("quiet", says="kinds of notices that are turned off, with spaces between", shown=COMMANDS),
        Field("invited_by", NUMBER, "uid; 0: the operator", line="invited user by"),
        Field("approved", says="the id of the act that let them join"),
        Field(
            "dismissed", TEXT, "which announcement was dismissed last", COMMANDS, line="dismissed user announcement",
        ),
        Field("pinned", POST, "the post that stands first on the profile", EVERYONE, line="pin user post"),
        Field("deleted", TIME, "unix s; nothing of a deleted account is shown", EVERYONE),
        Field("role", says="`moderator` or `admin`, as `staff` has it", shown=COMMANDS),
        Field("state", says="what staff has imposed: `frozen`, `hidden` or `suspended`", shown=COMMANDS),
        Field("state_until", NUMBER, "unix s, 0: until it is lifted", COMMANDS),
        Field("state_reason"),
        Field("state_since", OWN_TIME, "unix s", COMMANDS),
        Field("state_act", says="the id of the act"),
        Field("appeal", JSON, "the last one: JSON with the act, the text and when"),
        Field("answer:<act>", says="the decision about it, a line of the log"),
        LINE_OF_LOG,
    )),
    grows=BY_LOGINS, each=_("One key for each user"), truth=True, official=True, shown=EVERYONE,
    jobs="user:{owner} auth:{owner} name:{owner} role:{owner} sanction:{owner} appeal:{owner} answer:{owner} "
         "links:{owner}",
)
credentials = OfId(
    "credentials:<uid>",
    Hash((
        Field("totp", says="of an authenticator app: `<since (unix s)>:<secret>`"),
        Field("passkey:<id>", says="of each passkey, JSON: `name`, `key` (the public one), `since` (unix s)"),
    )),
    "what this user has beside the password. A login by password needs one of them, too, while there are any",
    _("longer with each passkey"), truth=True, goes=True, of_unknown="second factors of unknown users",
)
factor_uses = OfId(
    "factor_uses:<uid>", ZSet(TEXT, OTHER),
    "digests of these, score = the last time step of 30 seconds of which a code was used, or the counter of a passkey. "
    "It only grows, so no code serves twice", _("longer with each passkey"), truth=True, goes=True,
)
challenge = OfText(
    "challenge:<digest>", String(USER), "a challenge to a passkey that was answered: it serves once. EX five minutes",
    FIXED, hides="digest", lives=5 * MINUTE,
)
auths = One(
    "auths", Map(ANY, USER), "secret of an account or a session -> uid; may hold stale entries, never trusted alone",
    BY_LOGINS, official=True,
)
app = OfText(
    "app:<client_id>",
    Hash((
        Field("name", shown=COMMANDS),
        Field("website", shown=COMMANDS),
        Field("redirect_uris", says="a line each", shown=COMMANDS),
        Field("scopes", says="what it may ask for, with spaces between", shown=COMMANDS),
        Field("secret", says="its digest"),
        Field("since", OWN_TIME, "unix s", COMMANDS),
        Field("generation", says="its own tokens, for no user, of another one have ended"),
    )),
    "an app that speaks the API of Mastodon; until 400 days after its last use, eight days after an unused one came",
    FIXED, truth=True, lives=400 * DAY, each=_("One key for each app; it expires"), shown=COMMANDS,
)
code = OfText(
    "code:<digest>", String(),
    "a code with which an app fetches its token, as JSON: `uid`, `generation`, `app`, `scopes`, `redirect_uri`, "
    "`challenge`, `codes_ended`, EX ten minutes", FIXED, hides="digest", lives=10 * MINUTE,
)
spent_code = OfText(
    "spent_code:<digest>", String(), "the token that a code has given: `<uid>:<digest>`, EX ten minutes", FIXED,
    hides="digest", lives=10 * MINUTE,
)
calls = OfTwo(
    "calls:<digest>:<window>", String(NUMBER),
    "how often a token of an app was used in a window of five minutes, EX ten minutes", FIXED,
    hides="digest", lives=10 * MINUTE, about=SITE,
)
users_by_time = One(
    "users_by_time", ZSet(TEXT, SECONDS), "username as typed, score = registration (unix s)", BY_USERS,
    official=True, shown=EVERYONE,
)
users_by_name = One(
    "users_by_name", ZSet(TEXT, OTHER),
    "`<folded ending>:<uid>`, score 0: the rest of a username or display name from each of its words on, by whose "
    "beginning a user is found; may hold stale entries, never trusted alone",
    _("longer with each word of a name"), shown=EVERYONE, jobs="user:{member} name:{member} gone:{member}",
)
users_by_followers = One(
    "users_by_followers", ZSet(USER, OTHER),
    "uids, score = number of followers, set from ZCARD `followers:`; no user without followers", BY_USERS,
    shown=EVERYONE,
)
skeletons = One(
    "skeletons", Map(TEXT, USERS), "what a username looks like (UTS #39) -> the first uid whose name does", BY_USERS,
    shown=EVERYONE, jobs="user:{member}",
)

# ---- posts

next_post_id = One(
    "next_post_id", String(Value("", What.POST)), "a counter", FIXED, truth=True, official=True, shown=EVERYONE,
)
post = OfId(
    "post:<pid>",
    Hash((
        Field("user_id", USER, "the author", EVERYONE),
        Field("time", OWN_TIME, "unix s", EVERYONE),
        Field("body", says="empty in a deleted post", shown=EVERYONE),
        Field("reply_to", POST, "the post answered", EVERYONE),
        Field("root", POST, "the first post of the thread", EVERYONE),
        Field("reply_to_user", USER, "the author answered", EVERYONE),
        Field("above", POSTS, "the nearest posts above a reply, nearest first", EVERYONE),
        Field("quote", POST, "the quoted post", EVERYONE),
        Field("repost_of", POST, "this id is a repost and has no body", EVERYONE),
        Field("mentions", USERS, "uids", EVERYONE),
        Field("edited", TIME, "unix s of the last change", EVERYONE),
        Field("language", says="a code, such as `de`, where the author's app said it", shown=EVERYONE),
        Field("media", says="its pictures as JSON: digest, width, height and description of each", shown=EVERYONE),
        Field("alt:<digest>", says="the description of one of them after an edit: `media` follows from these two"),
        Field("removed:<digest>", says="since when the post does not show one of them, unix s"),
        Field("likes", NUMBER, "set from ZCARD of `liked_by:`", EVERYONE),
        Field("reposts", NUMBER, "of `reposted_by:`", EVERYONE),
        Field("replies", NUMBER, "of `replies_to:`", EVERYONE),
        Field("quotes", NUMBER, "of `quotes_of:`", EVERYONE),
        Field("deleted", DELETION, "unix s, with `:staff` behind it when staff has deleted the post", EVERYONE),
    )),
    "a deleted one stays 30 days, or longer while it has replies", BY_TEXT, each=_("One key for each post"),
    truth=True, official=True, shown=EVERYONE, jobs=JOBS_ON_POST,
)
updates = OfId(
    "updates:<uid>", ZSet(POST, ITSELF), "the user's own post ids, member = score = pid; never trimmed",
    _("longer with each post of the user"), truth=True, shown=EVERYONE, jobs=f"{JOBS_ON_POST} repost:{{owner}}",
    of_unknown="posts of unknown users",
)
edits = OfId(
    "edits:<pid>", Map(TIME, TEXT),
    "the texts of an edited post, the first one included: since when each stands (unix s) -> the text; `body` is the "
    "newest", _("longer with each edit"), truth=True, shown=EVERYONE, jobs=JOBS_ON_POST,
)
idem = OfTwo(
    "idem:<uid>:<token>", String(POST), "the pid that a form's one-time token became, EX one day", FIXED,
    hides="token", lives=DAY,
)

# ---- pictures: `<digest>` is the SHA-256 of its files, the first 40 hex digits

media = OfText(
    "media:<digest>", String(),
    "a WebP file without anything but pixels: at most 640 KB. `<digest>-<size>`: it smaller, or `-animated`",
    _("stays as it is"), truth=True, each=_("Some keys for each picture"),
)
media_info = OfText(
    "media_info:<digest>",
    Hash((
        *(Field(side, NUMBER, "pixels", COMMANDS) for side in ("width", "height")),
        Field("bytes", NUMBER, "of all its files", COMMANDS),
        Field("sizes", says="what the names of its files add to the digest, with spaces between", shown=COMMANDS),
        Field("owner", USER, "who has uploaded it first", COMMANDS),
        Field("since", TIME, "unix s", COMMANDS),
        Field("look", says="a hash that pictures share which look nearly the same; of a cut one also the whole's"),
        Field("blurhash", says="its colours, for an app that waits for it"),
        Field("going", TIME, "a worker is removing it, unix s: nobody may use it any more", COMMANDS),
    )),
    "what is known of a picture", FIXED, truth=True, each=_("One key for each picture"),
)
media_users = OfText(
    "media_users:<digest>", ZSet(TEXT, SECONDS),
    "what shows a picture, score = since when (unix s): `<kind>:<uid>:<id>`, such as `post:<uid>:<pid>` of a post by "
    "this user, `picture:<uid>:<since>` and `header:<uid>:<since>` of a profile, or `upload:<uid>:0` for a day. "
    "Without any, a worker removes the picture",
    _("longer with each post that shows the picture"), truth=True, each=_("One key for each picture"),
)
media_of = OfId(
    "media_of:<uid>", ZSet(TEXT, OTHER), "the digests of the pictures that this user has uploaded, score = bytes",
    BY_PICTURES, truth=True, of_unknown="pictures of unknown users", jobs="picture:{member}",
)
media_draft = OfTwo(
    "media_draft:<uid>:<digest>", String(),
    "what an app has said of a picture before its post: `<focus> <description>`, EX one day", FIXED, lives=DAY,
)
media_sizes = One(
    "media_sizes", ZSet(TEXT, OTHER), "the digests of all pictures, score = bytes", BY_PICTURES,
    jobs="picture:{member}",
)
blocked_media = One(
    "blocked_media", Map(TEXT, TEXT), "pictures that nobody may upload again: digest -> `look`", BY_ACTS, truth=True,
    line="blocked_picture digest look",
)

# ---- timelines

home = OfId(
    "posts:<uid>", Entries(ENTRY), "home timeline: own and followed users' posts, about the newest 1000", A_THOUSAND,
    official=True, shown=EVERYONE, of_unknown="home timelines of unknown users", goes=True,
    jobs="follow:{owner} home_tag:{owner} follow_tag:{owner}",
)
timeline = SplitByPost(
    "timeline", Entries(ENTRY), "everyone's newest posts, about 1000", A_THOUSAND, official=True, shown=EVERYONE,
    about=SITE, setting="TIMELINE_SHARDS", parts_say=": the posts whose id modulo TIMELINE_SHARDS is `<n>`",
)
recent = SplitByPost(
    "recent", ZSet(POST, ITSELF),
    "with `POST_IDS=snowflake`: the newest 2000 post ids, member = score = pid; `timeline` is rebuilt from it",
    TWO_THOUSAND, truth=True, shown=EVERYONE, setting="TIMELINE_SHARDS",
)

# ---- relations: the truth of whoever acts, and the mirror of whom or what it is about

following = OfId(
    "following:<uid>", ZSet(USER, SECONDS), "uids this user follows, score = since when (unix s)", BY_FOLLOWS,
    truth=True, official=True, shown=EVERYONE,
    jobs="follow:{owner}:{member} block:{owner}:{member} block:{member}:{owner}",
    of_unknown="follows of unknown users", line="follow follower followed since",
)
followers = OfId(
    "followers:<uid>", ZSet(USER, SECONDS), "", BY_FOLLOWS, official=True, shown=EVERYONE, mirrors=following,
    of_unknown="follows of unknown users",
)
likes = OfId(
    "likes:<uid>", ZSet(POST, SECONDS), "pids of the posts that this user likes, score = since when (unix s)", BY_LIKES,
    truth=True, shown=COMMANDS, jobs="like:{owner}:{member}",
    of_unknown="likes of unknown users", line="like user post time",
)
liked_by = OfId("liked_by:<pid>", ZSet(USER, SECONDS), "", BY_LIKES, shown=EVERYONE, mirrors=likes, counted="likes")
reposts = OfId(
    "reposts:<uid>", ZSet(POST, REPOST),
    "pids of the posts that this user has reposted, score = the id of the repost, a post of its own", BY_REPOSTS,
    truth=True, shown=EVERYONE, jobs="repost:{owner}:{member}",
    of_unknown="reposts of unknown users",
)
reposted_by = OfId(
    "reposted_by:<pid>", ZSet(USER, REPOST), "uids, score = the id of the repost", BY_REPOSTS, shown=EVERYONE,
    mirrors=reposts, counted="reposts",
)
bookmarks = OfId(
    "bookmarks:<uid>", ZSet(POST, SECONDS), "pids, score = since when (unix s)", BY_CHOICES, truth=True, shown=COMMANDS,
    jobs="bookmark:{owner}:{member}", line="bookmark user post time",
)
blocked = OfId(
    "blocked:<uid>", ZSet(USER, SECONDS), "uids that this user blocks, score = since when (unix s)", BY_CHOICES,
    truth=True, shown=OWNER, jobs="block:{owner}:{member}", of_unknown="blocks of unknown users",
    line="block user blocked since",
)
blocked_by = OfId(
    "blocked_by:<uid>", ZSet(USER, SECONDS), "", BY_CHOICES, mirrors=blocked, of_unknown="blocks of unknown users",
)
muted = OfId(
    "muted:<uid>", ZSet(USER, UNTIL), "uids that this user mutes, score = until when (unix s, or +inf)", BY_CHOICES,
    truth=True, shown=COMMANDS, jobs="mute:{owner}:{member}", line="mute user muted until",
)
muted_reposts = OfId(
    "muted_reposts:<uid>", ZSet(USER, UNTIL),
    "uids whose reposts this user hides, score = until when (unix s, or +inf)", BY_CHOICES, truth=True, shown=COMMANDS,
    jobs="mute_reposts:{owner}:{member}", line="mute_reposts user muted until",
)
muted_threads = OfId(
    "muted_threads:<uid>", ZSet(THREAD, SECONDS),
    "the first posts of threads that make no notices for this user, score = since when (unix s)", BY_CHOICES,
    truth=True, shown=COMMANDS, jobs="mute_thread:{owner}:{member}", line="mute_thread user thread since",
)
muted_words = OfId(
    "muted_words:<uid>", ZSet(TEXT, UNTIL),
    "words that this user mutes: `<where> <how> <words>` (`home` or `everywhere`; `hide` or `fold`), score = until "
    "when (unix s, or +inf)", BY_CHOICES, truth=True, shown=OWNER, jobs="mute_words:{owner}:{member}",
    line="mute_words user words until",
)
tags_of = OfId(
    "tags_of:<uid>", ZSet(TEXT, SECONDS), "folded tags that this user follows, score = since when (unix s)", BY_CHOICES,
    truth=True, shown=COMMANDS, jobs="follow_tag:{owner}:{member}", line="follow_tag user tag since",
)
home_tags = OfId(
    "home_tags:<uid>", ZSet(TEXT, SECONDS),
    "of these tags, those whose posts the home of this user has, score = since when (unix s)", BY_CHOICES,
    truth=True, shown=COMMANDS, jobs="home_tag:{owner}:{member} follow_tag:{owner}:{member}",
    line="home_tag user tag since",
)
homes_of_tag = OfText(
    "homes_of_tag:<folded>", ZSet(USER, SECONDS), "", BY_CHOICES, each=_("One key for each tag"), mirrors=home_tags,
)

unseen = OfKey(
    "unseen:<key>", ZSet(ANY, OTHER),
    "of `<key>`, a key of followers, following, likes, reposts, replies, quotes or a tag: the members that no number "
    "counts: people whom staff has hidden or suspended (score 0), and their posts (score = pid)",
    _("longer with each hidden or suspended person, and with each post of theirs"),
)

# ---- conversation

thread = OfId(
    "thread:<pid>", ZSet(POST, ITSELF), "every post below the first post of a thread, member = score = pid", BY_REPLIES,
    each=_("One key for each thread"), shown=EVERYONE, jobs=JOBS_ON_POST,
)
replies_to = OfId(
    "replies_to:<pid>", ZSet(POST, ITSELF), "the replies to this post itself, member = score = pid", BY_REPLIES,
    shown=EVERYONE, jobs=JOBS_ON_POST, counted="replies",
)
quotes_of = OfId(
    "quotes_of:<pid>", ZSet(POST, ITSELF), "the posts that quote this post, member = score = pid",
    _("longer with each quote"), shown=EVERYONE, jobs=JOBS_ON_POST, counted="quotes",
)
notices = OfId(
    "notices:<uid>", ZSet(TEXT, SECONDS),
    "what others did that concerns this user: `<kind>:<what>:<who>`, score = when (unix s), the newest 1000 "
    "(`report:<rid>:<uid>`: what was decided about a report; `sanction:<time (unix ms)>:<uid>`: what staff did then "
    "about a sanction); the member `up_to_here` has `noticed` as its score, so that one round trip counts the new "
    "ones", A_THOUSAND, truth=True, shown=COMMANDS,
    of_unknown="notices of unknown users", goes=True,
)

# ---- search

tag = OfText(
    "tag:<folded>", ZSet(POST, ITSELF), "the posts with this hashtag, member = score = pid",
    _("longer with each post that has the tag"), each=_("One key for each tag"), shown=EVERYONE, jobs=JOBS_ON_POST,
)
tags = One(
    "tags", Map(TEXT, TEXT), "folded tag -> its spelling when it was first used", BY_TAGS, truth=True, shown=EVERYONE,
)
tags_by_name = One(
    "tags_by_name", ZSet(TEXT, OTHER),
    "folded tags with their marks apart (NFD), score 0: by which the beginning of a tag is found; those without posts "
    "go with `cleanup`", BY_TAGS,
    shown=EVERYONE,
)
postings = OfTwo(
    "postings:<first>:<bucket>", String(),
    "the search index for the posts of one range of ids: for each term of a post 4 bytes, with an id from the time 8, "
    "the lowest first: the id minus `<first>`, and in the last two bytes a part of the term's hash. Another part of "
    "the hash says in which of 1024 buckets. May hold records of what is no longer in a post, and a record twice",
    BY_POSTS, each=_("At most 1024 keys for 16,384 posts"),
)
posting_bits = OfTwo(
    "posting_bits:<group>:<bucket>", String(),
    "which of 64 ranges of ids have a term of this bucket: 512 bits for each range, in their order; a term sets one of "
    "them, which others may set, too; none is ever cleared. Ranges from the time come after 67,108,864 others", FIXED,
    each=_("At most 1024 keys for a million posts"),
)
posting_ranges = One(
    "posting_ranges", ZSet(ID, ITSELF),
    "where ranges of ids from the time begin, member = score = the first id. Ranges of ids from the counter begin at "
    "each multiple of 16,384", BY_POSTS, shown=EVERYONE,
)
search_index = One(
    "search_index", Map(TEXT, NUMBER),
    "`posts:<first>`: how many posts were written into a range of ids from the time, about; `reindexed`: the first id "
    "of the range that `reindex` has written last; while that is unfinished, `late:<pid>`: a post that came meanwhile, "
    "which `reindex` writes at its end", BY_POSTS, shown=EVERYONE,
)

# ---- community

site = One(
    "site",
    Hash((
        *(Field(name, shown=EVERYONE) for name in ("name", "tagline", "colour", "about", "privacy", "contact")),
        Field("rules", says="a line each", shown=EVERYONE),
        Field("announcement", shown=EVERYONE), Field("announced", says="which change has set it", shown=EVERYONE),
        Field("registration", says="`open`, `approval`, `invite` or `closed`", shown=EVERYONE),
        Field("invites", says="open invitations that a member may have", shown=COMMANDS),
        Field("second_factor", says="`staff`: its pages need one", shown=COMMANDS),
        LINE_OF_LOG,
    )),
    "the site's own words; an absent or empty field has its default", BY_TEXT, truth=True, shown=EVERYONE,
)
staff = One(
    "staff", Map(TEXT, TEXT),
    "uid -> `moderator` or `admin`, or `member` for a role that was taken away; `changing:<id>` -> the uid whose role "
    "is being changed; `act:<id>` -> a line of the log until it is there", BY_ACTS, truth=True,
)
log = OfId(
    "log:<year>", ZSet(TEXT, OTHER), "what staff did, a line of JSON each, score = when (unix ms)", BY_ACTS,
    each=_("One key for each year"), truth=True,
)
acts = OfId(
    "acts:<uid>", ZSet(TEXT, OTHER), "the lines of the log about this user", BY_ACTS, truth=True, goes=True,
    jobs="sanction:{owner} role:{owner}",
)
staff_notes = OfId(
    "staff_notes:<uid>", ZSet(TEXT, OTHER),
    "what staff notes about this user, for itself: lines as in the log, score = when (unix ms)", BY_ACTS, truth=True,
    goes=True, of_unknown="notes about unknown users",
)
appeals = One(
    "appeals", ZSet(TEXT, SECONDS), "open appeals: `<uid>:<id of the act>`, score = since when (unix s)", BY_WORK,
    jobs="appeal:{member}",
)
report = OfId(
    "report:<rid>",
    Hash((
        Field("who", USER, "uid"),
        Field("whom", USER, "uid"),
        Field("pid", POST, "of a reported post"),
        Field("reason", says="`spam`, `harassment`, `illegal`, `other`, `rule:<number>`"),
        Field("rule", says="its text"),
        Field("note"),
        Field("body", says="the text of the post as it was"),
        Field("media", says="its pictures, or those of the person: they stay until it is decided"),
        Field("decision", says="a line of the log"),
        Field("deleted", says="ids of the posts that it has deleted, with spaces between"),
    )),
    "what a user has told staff", BY_TEXT, each=_("One key for each report"), truth=True,
)
reports = One(
    "reports", ZSet(ID, ITSELF), "the open reports, member = score = `<rid>`: when it was made, in unix µs", BY_WORK,
)
reports_about = OfId(
    "reports_about:<uid>", ZSet(ID, ITSELF),
    "all reports about this user and their posts, member = score = `<rid>`", BY_REPORTS,
    jobs="gone:{owner} report:{member}", of_unknown="reports about unknown users",
)
reports_by = OfId(
    "reports_by:<uid>", ZSet(TEXT, OTHER),
    "this user's reports, score = `<rid>`: `<whom>:<pid>` (pid 0: the person) while it is open, `<whom>:<pid>:<rid>` "
    "when it is decided", BY_REPORTS, of_unknown="reports by unknown users",
)
applications = One(
    "applications", Map(TEXT, ANY),
    "lower-cased name -> somebody who asks to join, as JSON: `username`, `password` (Django hash), `why`, `at`, "
    "`refused` (unix s), `reason`; `answer:<name>:<at>` -> staff's answer, a line of the log, until it is carried out",
    _("longer with each application"), truth=True,
)
applicants = One(
    "applicants", ZSet(TEXT, SECONDS),
    "the applications that wait for an answer: `<lower-cased name>:<when it was made (unix s)>`, score = the same time",
    BY_WORK,
)
invites = OfId(
    "invites:<uid>", Map(TEXT, NUMBER),
    "the invitations by this user, by the operator with 0: code `<uid>-<end>-<random>` (the end in unix s) -> how many "
    "people it lets in", _("longer with each open invitation"), truth=True, also="0",
    of_unknown="invitations by users who are gone", goes=True,
)
uses = OfText(
    "uses:<digest>", ZSet(USER, SECONDS),
    "the uids that an invitation has let in, by the hash of its code, score = when (unix s); until a day after its end",
    _("longer with each person who joins by the invitation"), truth=True, lives=3651 * DAY,
    each=_("At most one key for each invitation; it expires"), jobs="invited:{member}",
)
blocked_names = One(
    "blocked_names", Map(TEXT, OWN_TIME),
    "a word that no new account may have as its name, `*` for any letters -> since when (unix s)", BY_ACTS, truth=True,
    line="blocked_name word since",
)

# ---- jobs

outbox = SplitByJob(
    "outbox", ZSet(JOB, SECONDS), "unfinished jobs, score = when a worker may take the job over (unix s)", BY_WORK,
    truth=True, shown=EVERYONE, setting="OUTBOX_SHARDS", parts_say=": the jobs about some of the ids",
)
attempts = One(
    "attempts", Map(JOB, NUMBER),
    "job -> number of times that a worker has claimed it; 1 again after a worker released it", BY_WORK, shown=EVERYONE,
    about=SITE,
)
set_aside = One(
    "set_aside", ZSet(JOB, SECONDS),
    "dead letters: jobs that no worker could finish, score = since when (unix s); `deliver` leaves them alone", BY_WORK,
    truth=True, shown=EVERYONE,
)
lease = OfText(
    "lease:<job>", String(), "the worker that has the job; empty: what one process does at a time", FIXED,
    shown=EVERYONE, hides="job", lives=MINUTE, about=PROCESSES,
)

# ---- operations

reset = OfText(
    "reset:<digest>", String(),
    "a link for a new password, by the hash of its token: `<uid>:<generation>:<role>`, and `:<uid>` of the moderator "
    "or admin who has made it, EX one day", FIXED, hides="digest", lives=DAY,
)
throttle = OfTwo(
    "throttle:<limit>:<who>", ZSet(ANY, OTHER),
    "a rate limit: one member for each counted action, score = when (unix s); for the limit's window",
    _("a member for each action in the time of the limit"), hides="who", lives=HOUR, about=SITE,
)
damaged = OfKey(
    "damaged:<key>", Anything(),
    "a key of the wrong type, a list or string with a bad value, a post that nothing shows to be published, a "
    "report that nothing shows to be sent, or what belongs to a user or a post that does not exist, which "
    "`doctor --fix` or `cleanup` has moved here. While there is one already, `damaged:<key>:again:<number>`, from 2 "
    "on. `damaged:<key>:values`, a hash: bad members with their scores, or bad fields, which `doctor --fix` has "
    "removed from the key, and members that it has brought back to a key that was lost; the first of each name. EX 30 "
    "days",
    BY_TEXT, hides="key", lives=30 * DAY, each=_("None, while nothing is damaged"),
)
health = One("health", String(), "written by `/readyz`", FIXED, shown=EVERYONE, lives=MINUTE, about=PROCESSES)
worker_seen = One("worker_seen", String(TIME), "when a worker last ran, unix s", FIXED, shown=EVERYONE, about=PROCESSES)
inspected = OfText(
    "inspected:<what>", String(),
    "with INSPECT=1: what a form (a random token) or a job (the hash of its name) has sent, as JSON without secrets, "
    "EX one minute", FIXED, hides="what", lives=MINUTE, about=PROCESSES,
)
schema = One(
    "schema", String(VERSION),
    "the version of this table that the store follows, now 1; `adopting` while `adopt` is under way", FIXED, truth=True,
    shown=EVERYONE, about=SITE,
)

declare(settings.KEY_KINDS)


# ---- names that the table cannot say


def counted_in(key: str) -> str:
    """The key of which a key of `unseen` has members."""
    return key.replace(unseen(""), PREFIX, 1)
