"""The actions on a post, with how often others have done them."""

from accounts.signing_in.html.pages import Rendering
from accounts.users.html import at
from retwis_site.rendering.fragments import EITHER, Fragment, Html
from timeline.posts.entities import Post

ACTIONS = Fragment(
    "timeline/posts/_actions.html",
    slots=("pid", "at", "replies", "reposts", "likes"),
    shape={"can_act": EITHER, "liked": EITHER, "reposted": EITHER, "bookmarked": EITHER},
)


def actions(post: Post, by: Rendering) -> Html:
    """The row of actions of a post, with its counts."""
    return ACTIONS.fill(
        by.language,
        can_act=by.me is not None,
        liked=post.context.acted.liked,
        reposted=post.context.acted.reposted,
        bookmarked=post.context.acted.bookmarked,
        pid=post.pid,
        at=at(post.author.username),
        replies=post.counts.replies or "",
        reposts=post.counts.reposts or "",
        likes=post.counts.likes or "",
    )
