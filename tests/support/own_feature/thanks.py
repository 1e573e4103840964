"""Thanks: a relation that a site of its own adds, from a user to a post, with a page and a button's address."""

import time

from django.http import HttpResponse
from django.urls import path

from accounts.signing_in.guards import login_required
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from retwis_site.store.client import connect
from retwis_site.store.kinds import COMMANDS, POST, SECONDS, USER, OfId, ZSet
from timeline.conversation.views import act_on_posts
from timeline.relations.edges import Edges
from timeline.relations.relation import Edge, Relation

thanks = OfId(
    "thanks:<uid>",
    ZSet(POST, SECONDS),
    "the posts that this user thanks for, score = since when (unix s)",
    "longer with each thanks",
    truth=True,
    shown=COMMANDS,
    jobs="thank:{owner}:{member}",
)
thanked_by = OfId("thanked_by:<pid>", ZSet(USER, SECONDS), "", "longer with each thanks", mirrors=thanks)
THANK = Relation("thank", thanks)

thank = act_on_posts(
    lambda store, me, post: Edges(store, THANK).set(Edge(me, str(post.pid), post.author.uid), int(time.time()))
)


@login_required
def thanked(request: RetwisRequest, me: User) -> HttpResponse:
    return HttpResponse(" ".join(connect().zrevrange(thanks(me.uid), 0, 99)))


urlpatterns = [
    path("@<username:username>/<id:pid>/thank/", thank, name="thank"),
    path("thanks/", thanked, name="thanks"),
]
