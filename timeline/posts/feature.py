"""Posts: publishing, delivery, deleting, and how a post looks."""

from django.utils.translation import gettext_lazy as _

from retwis_site.features import Feature
from retwis_site.http.cookies import PersonalCookie
from retwis_site.http.form_fields import FormField
from retwis_site.jobs.outbox import job_id
from retwis_site.store.rate_limits import Limit
from timeline.posts import repository
from timeline.posts.checks import CountChecks, ListingChecks, LostPosts, OrphanedPosts
from timeline.posts.composer import DRAFT_COOKIE, give_draft_to
from timeline.posts.delivery import Delivery, Reposts
from timeline.posts.pictures import PostPictureChecks, ask_picture_use, finish_removal, settle_pictures
from timeline.posts.settling import Settling
from timeline.posts.site_lines import POSTS as POST_LINES, TOMBSTONES, account_lines
from timeline.relations.upkeep import ABOUT_POSTS

# ---- How often a user may post.


POSTS = Limit("post", 60, 3600, "posts", _("Too many posts in a short time."))


# ---- What it declares


FEATURE = Feature(
    urls="timeline.posts.views",
    jobs={
        "post": lambda store, claim: Delivery(store).redeliver(job_id(claim.name, 1)),
        "repost": lambda store, claim: Reposts(store).finish(claim),
        "fan_repost": lambda store, claim: Reposts(store).fan_out(claim),
        "fan": lambda store, claim: Delivery(store).fan_out(claim),
        "staff_deletion": repository.finish_staff_deletion,
        "staff_picture": finish_removal,
        "pictures": lambda store, claim: settle_pictures(store, job_id(claim.name, 1)),
        "del": repository.finish_deletion,
        "edit": repository.finish_edit,
        "settle": lambda store, claim: Settling(store).settle([job_id(claim.name, 1)]),
    },
    put_off={},
    former_jobs={"spread": "fan_repost", "unpost": "staff_deletion", "stone": "settle"},
    limits=(POSTS,),
    searchers=(LostPosts, OrphanedPosts, PostPictureChecks, ListingChecks, CountChecks),
    adoption=lambda store: LostPosts(store).adoption(),
    account_lines=account_lines,
    site_lines=(POST_LINES, TOMBSTONES, *ABOUT_POSTS),
    recount=repository.recount_posts,
    remove_account=repository.remove_posts,
    picture_uses={"post": ask_picture_use},
    uploads=("publish",),
    form_fields={
        "edit": (FormField("body", "textarea", _("Your post")),),
        "publish": (FormField("body", "textarea", _("Your post")), FormField("picture", "files", _("Pictures"))),
    },
    cookies=(PersonalCookie(DRAFT_COOKIE, at_login=_("Your post is kept. Log in to send it.")),),
    after_login=give_draft_to,
)
