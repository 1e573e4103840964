"""A user reports a person or a post to the staff."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.signing_in.guards import login_required
from accounts.signing_in.html import form_page, rendering
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from retwis_site.http.form_fields import MaxLength
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits
from retwis_site.store.reading import trip
from timeline.moderation.feature import REPORTS
from timeline.moderation.reports.repository import LONGEST_NOTE, RULE, NewReport, Reason, Reports
from timeline.posts.entities import NoSuchPost, Post
from timeline.posts.reading.one_post import one_post_or_hidden
from timeline.relations.html import person_menu
from timeline.relations.mute import ask_hiding

# ---- The form that reports a person or a post.


LABELS = {
    Reason.SPAM: gettext_lazy("It is spam or fraud"),
    Reason.HARASSMENT: gettext_lazy("It insults or threatens someone"),
    Reason.ILLEGAL: gettext_lazy("It is against the law"),
    Reason.OTHER: gettext_lazy("Something else"),
}


class ReportForm(forms.Form):
    reason = forms.ChoiceField(
        widget=forms.RadioSelect,
        error_messages=dict.fromkeys(("required", "invalid_choice"), gettext_lazy("Choose one of these reasons.")),
    )
    note = forms.CharField(
        required=False,
        label=gettext_lazy("What should the moderators know?"),
        help_text=gettext_lazy("Only the moderators of this site read it."),
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
        validators=[MaxLength(LONGEST_NOTE)],
    )

    def __init__(self, *args: Any, rules: Sequence[str], **kwargs: Any) -> None:
        """`rules`: those of the site, in their order."""
        super().__init__(*args, **kwargs)
        self._rules = rules
        self.fields["reason"].choices = reasons(rules)  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("reason") == Reason.OTHER and not cleaned.get("note") and "note" not in self.errors:
            self.add_error("note", gettext_lazy("Say what is wrong."))
        return cleaned

    @property
    def rule(self) -> str:
        """The text of the chosen rule; empty when none was chosen."""
        reason = str(self.cleaned_data["reason"])
        return self._rules[int(reason.removeprefix(RULE)) - 1] if reason.startswith(RULE) else ""


def reasons(rules: Sequence[str]) -> list[tuple[str, str | Promise]]:
    """The reasons with their labels; the rules of the site stand before the last one."""
    *first, other = LABELS
    named = [(f"{RULE}{number}", label_of(f"{RULE}{number}", rule)) for number, rule in enumerate(rules, 1)]
    return [*((reason.value, LABELS[reason]) for reason in first), *named, (other.value, LABELS[other])]


def label_of(reason: str, rule: str) -> str:
    """A reason in words; `rule`: the text of the rule that it names."""
    if reason.startswith(RULE):
        return gettext("It breaks rule %(number)s: %(rule)s") % {"number": reason.removeprefix(RULE), "rule": rule}
    return str(LABELS[Reason(reason)] if reason in list(Reason) else reason)


# ---- Views


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def report_person(request: RetwisRequest, me: User, username: str) -> HttpResponse:
    return _report(request, me, request.viewer.find(username), None)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def report_post(request: RetwisRequest, me: User, username: str, pid: int) -> HttpResponse:
    """Also a post that a block hides can be reported. Raises NoSuchPost, also for a repost, PostDeleted."""
    post, _is_hidden = one_post_or_hidden(request.viewer, username, pid)
    if post.links.repost_of is not None:
        raise NoSuchPost(pid)
    return _report(request, me, post.author, post)


def _report(request: RetwisRequest, me: User, person: User, post: Post | None) -> HttpResponse:
    if person.uid == me.uid:
        messages.error(request, _("You cannot report yourself."))
        return redirect("profile", person.username)
    form = ReportForm(request.POST if request.method == "POST" else None, rules=request.viewer.site.numbered_rules)
    if form.is_valid():
        RateLimits(connect()).count(REPORTS, str(me.uid))
        cleaned = form.cleaned_data
        pid, body = (post.pid, post.body) if post is not None else (None, "")
        new = NewReport(person.uid, pid, cleaned["reason"], cleaned["note"], form.rule, body)
        if Reports(connect()).make(me.uid, new):
            messages.success(request, _("Thank you. You will be told what the moderators decide."))
        else:
            messages.success(request, _("You have reported this already. A moderator will look at it."))
        return redirect("reported", person.username)
    address = (
        reverse("report_post", args=[person.username, post.pid])
        if post is not None
        else reverse("report_person", args=[person.username])
    )
    context = {"form": form, "person": person, "post": post, "address": address}
    return form_page(request, "timeline/moderation/reporting/report.html", context, 422 if form.is_bound else 200)


@require_safe
@login_required
def reported(request: RetwisRequest, me: User, username: str) -> HttpResponse:
    """What else the reporter can do about a person: block them, or mute them."""
    person, [hiding] = request.viewer.ask_about(username, lambda pipe, me, them: trip(ask_hiding(pipe, me or 0, them)))
    menu = person_menu(person, hiding, rendering(request), request.path) if person.uid != me.uid else ""
    return form_page(request, "timeline/moderation/reporting/reported.html", {"person": person, "menu": menu})
