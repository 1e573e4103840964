"""Fragments: a template is rendered once for each language and shape, says which names it takes, escapes texts."""

import ast
import math
import random
from enum import StrEnum
from importlib import import_module
from itertools import combinations, count, product
from pathlib import Path

import pytest
from django.conf import settings as site
from django.template import engines
from django.utils.translation import gettext_lazy, override
from hypothesis import given, strategies as st

from retwis_site.rendering import fragments
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, Values, escaped, joined
from retwis_site.rendering.pages import MESSAGE
from retwis_site.rendering.template_names import EITHER, FragmentError, names_of
from tests.support.stored_keys import publish
from tests.support.stores.seam import tries_all
from timeline.relations.html import COUNTS

LANGUAGES = ("en", "de", "ar")
LOADER = "django.template.loaders.filesystem.Loader"
# Shapes of a fragment: so many at random, and more until any two or three values have met. The search has 64512.
TRIED, MEET = (1500, 3) if tries_all() else (30, 2)


@pytest.fixture
def folders(monkeypatch, settings, tmp_path):
    """The templates of a site in `site`, and below them those of the code in `code`. New fragments stay out of the list
    of all."""
    monkeypatch.setattr(Fragment, "every", [])
    for name in ("site", "code"):
        (tmp_path / name).mkdir()
    dirs = [tmp_path / "site", tmp_path / "code", *settings.TEMPLATES[0]["DIRS"]]
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": dirs}]
    return tmp_path


@pytest.fixture
def made(folders):
    """`made(source, shape=...)`: a fragment whose template has this source. `instead`: the template of a site."""
    numbers = count(1)

    def make(source, instead=None, **declared):
        name = f"made{next(numbers)}.html"
        (folders / "code" / name).write_text(source)
        if instead is not None:
            (folders / "site" / name).write_text(instead)
        return Fragment(name, **declared)

    return make


# ---- filling


def test_texts_are_escaped_and_html_is_not(made):
    fragment = made("<p title='{{ a }}'>{{ b }}{{ c }}</p>")
    html = fragment.fill("en", a="'\"<&>", b=Html("<b>1</b>"), c=7)
    assert html == "<p title='&#x27;&quot;&lt;&amp;&gt;'><b>1</b>7</p>"
    assert type(html) is Html


class Colour(StrEnum):
    HOSTILE = "<script>"


@pytest.mark.parametrize("value", [Colour.HOSTILE, gettext_lazy("<script>")])
def test_other_kinds_of_text_are_escaped_too(made, value):
    assert made("{{ a }}").fill("en", a=value) == "&lt;script&gt;"


@given(st.text())
def test_any_text_stands_where_it_was_filled_in(text):
    tags = "%(text)s {{ text }} %"
    assert MESSAGE.fill("en", text=text, tags=tags) == f'<p class="message {tags}">{escaped(text)}</p>'


def test_a_percent_sign_in_a_template_stays(made):
    assert made("100% {{ a }} %s %%").fill("en", a="%s") == "100% %s %s %%"


def test_parts_that_are_texts_are_escaped_when_they_are_joined():
    assert joined([Html("<b>"), "<i>", Html("</b>")]) == "<b>&lt;i&gt;</b>"


@pytest.mark.parametrize("filled", [{}, {"a": "x"}, {"a": "x", "b": "y", "c": "z"}])
def test_a_slot_left_out_and_an_unknown_one_are_errors(made, filled):
    with pytest.raises(FragmentError, match=r"made1\.html"):
        made("{{ a }}{{ b }}").fill("en", **filled)


def test_a_shape_has_only_its_declared_values(made):
    fragment = made("{% if end == 'cap' %}1{% endif %}", shape={"end": ("", "cap")})
    assert (fragment.fill("en", end=""), fragment.fill("en", end="cap")) == ("", "1")
    with pytest.raises(FragmentError, match="end='other' is not in its shape"):
        fragment.fill("en", end="other")
    with pytest.raises(FragmentError, match="'end' is not given"):
        fragment.fill("en")


def test_a_number_takes_the_plural_form_of_its_language():
    with override("de"):  # the language that is asked for counts, not the active one
        for number, words in ((0, "0 followers"), (1, "1 follower"), (2, "2 followers"), (12345, "12345 followers")):
            html = COUNTS.fill("en", uid=1, at="ann", posts=NOTHING, following=0, followers=number)
            assert f"<strong>{number}</strong> {words.partition(' ')[2]}</a>" in html


def test_the_arabic_forms_of_a_number_are_shown():
    words = set()
    for number in (0, 1, 2, 3, 11, 100, 1003):
        html = COUNTS.fill("ar", uid=1, at="ann", posts=NOTHING, following=5, followers=number)
        words.add(html.replace(f"<strong>{number}</strong>", ""))
    assert len(words) == 4  # three and more share a word


@pytest.mark.parametrize("language", ["fr", "ja"])
def test_a_text_that_a_language_lacks_has_the_plural_forms_of_english(made, language):
    fragment = made(
        "{% load i18n %}{% blocktranslate count n=number %}one{% plural %}{{ n }} all{% endblocktranslate %}"
    )
    assert [fragment.fill(language, number=number) for number in (1, 0, 1, 5)] == ["one", "0 all", "one", "5 all"]


def test_each_language_and_shape_is_rendered_once(made, monkeypatch):
    fragment = made("{% if own %}mine {% endif %}{{ a }}")
    fragment.load()
    rendered = []
    real = Fragment._render
    monkeypatch.setattr(Fragment, "_render", lambda self, *rest: rendered.append(rest[1]) or real(self, *rest))
    for language in LANGUAGES:
        for own in (True, False, True, False):
            fragment.fill(language, own=own, a=f"{language} {own}")
    assert sorted(rendered) == sorted((language, own) for language in LANGUAGES for own in EITHER)


def test_with_debug_a_changed_template_shows_at_once(made, folders, settings):
    settings.DEBUG = True
    fragment = made("old {{ a }}")
    assert fragment.fill("en", a=1) == "old 1"
    (folders / "code/made1.html").write_text("new {{ a }}")
    for loader in engines["django"].engine.template_loaders:
        loader.reset()  # as `runserver` does
    assert fragment.fill("en", a=1) == "new 1"


def test_with_debug_a_card_is_made_anew(browser, raw, store, alice, settings, monkeypatch):
    publish(raw, store, alice, "Hello")
    settings.DEBUG = True
    made = []
    real = Fragment.to_keep
    monkeypatch.setattr(Fragment, "to_keep", lambda self, *rest, **given: made.append(1) or real(self, *rest, **given))
    for _ in range(2):
        browser().get("/timeline/")
    assert made == [1, 1]


# ---- what is kept


def test_a_fragment_keeps_a_bounded_number_of_shapes(made, monkeypatch):
    monkeypatch.setattr(fragments, "MOST_SHAPES", 2)
    fragment = made("{{ a }}{% if b == 1 %}one{% endif %}", shape={"b": (1, 2, 3)})
    for value in (1, 2, 3, 1):
        assert fragment.fill("en", a="x", b=value) == ("xone" if value == 1 else "x")
        assert 1 <= len(fragment._rendered) <= 2


def test_the_shapes_of_a_fragment_share_what_they_have_in_common(made):
    """Else a visitor who asks for a page in all of its shapes fills the memory."""
    source = "<p>the same</p>{{ a }}{% if b == 1 %}one{% else %}another{% endif %}{{ c }}<p>the same</p>"
    fragment = made(source, shape={"b": (1, 2)})
    for value in (1, 2):
        fragment.fill_as_sent("en", a="x", c="y", b=value)
    one, another = fragment._rendered.values()
    assert one._names is another._names
    same = [piece is counterpart for piece, counterpart in zip(one._pieces, another._pieces, strict=True)]
    assert same == [True, True, False, True, True]


# ---- the names of a template


def test_what_a_template_does_with_a_name_says_what_it_is(made):
    source = """{% load i18n %}{% with alias=name %}{{ alias }}{% endwith %}{% url 'profile' at as place %}{{ place }}
        {% if own and not alone %}{{ end }}{% elif end == 'cap' %}{{ fixed.word|upper }}{% endif %}{% csrf_token %}
        {{ posts }}{% blocktranslate count n=posts with who=person %}{{ who }}{% plural %}{{ n }}{% endblocktranslate %}
        {% include "timeline/timelines/_first_page.html" with text="Back" %}"""
    fragment = made(source, shape={"end": ("", "cap")}, constants={"fixed": {"word": "x"}})
    fragment.load()
    assert set(fragment.names.slots) == {"name", "at", "csrf_token", "person", "newest_at"}
    assert fragment.names.numbers == ("posts",)
    assert fragment.names.shape == {"end": ("", "cap"), "own": EITHER, "alone": EITHER}


def test_a_name_that_a_part_of_a_template_binds_is_a_slot_elsewhere(made):
    source = (
        "{% with name=person %}{{ name }}{% endwith %}{% for one in known %}{{ one }}{% endfor %}{{ name }}{{ one }}"
    )
    fragment = made(source, constants={"known": "ab"})
    assert fragment.fill("en", person="p", name="n", one="o") == "pabno"


def test_a_loop_knows_where_it_is(made):
    source = "{% for one in known %}{{ one }}{% if not forloop.last %}{{ between }}{% endif %}{% endfor %}"
    assert made(source, constants={"known": "abc"}).fill("en", between=", ") == "a, b, c"


def test_a_template_takes_what_it_shows_of_those_that_it_extends(made, folders):
    base = "{% block a %}{{ in_a }}{% endblock %}{% block b %}{{ in_b }}{% endblock %}{{ around }}"
    (folders / "code/base.html").write_text(base)
    source = (
        "{% extends 'base.html' %}{% block a %}{{ own }}{% endblock %}{% block b %}{{ block.super }}!{% endblock %}"
    )
    assert made(source).fill("en", own=1, in_b=2, around=3) == "12!3"


def test_every_template_of_the_site_can_be_read():
    Fragment.load_all()
    assert len({fragment.template for fragment in Fragment.every}) >= 30


def test_the_code_gives_each_fragment_the_names_that_it_takes():
    """So a misspelled name is found, also where no page of a test comes by."""
    calls = list(calls_of_fragments())
    Fragment.load_all()
    of_the_frame = names_of("retwis_site/base.html", {"theme": ("",)}, {"here": ""})
    frame = {*of_the_frame.shape, *of_the_frame.to_fill}
    checked = []
    for module, call in calls:
        fragment = fragment_of(module, call.func.value)
        if fragment is None:
            continue
        given = {keyword.arg for keyword in call.keywords} - {"status"}
        taken = {*fragment.names.shape, *fragment.names.to_fill} - (frame if call.func.attr == "response" else set())
        unknown = given - {None} - taken
        missing = set() if None in given or call.func.attr == "prepare" else taken - given
        assert (unknown, missing) == (set(), set()), f"{module.__name__}, line {call.lineno}"
        checked.append(fragment.template)
    assert len(set(checked)) >= 50


def calls_of_fragments():
    """Every call that fills a fragment, with its module."""
    for folder in ("retwis_site", "accounts", "timeline"):
        for path in sorted(Path(site.BASE_DIR, folder).rglob("*.py")):
            text = path.read_text()
            if "rendering.fragments import" not in text and "Page" not in text:
                continue
            for node in ast.walk(ast.parse(text)):
                name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
                if name in {"fill", "fill_as_sent", "to_keep", "response"}:
                    yield import_module(".".join(path.relative_to(site.BASE_DIR).with_suffix("").parts)), node


def fragment_of(module, called):
    """The fragment with this name, or the first one in a table with this name; None for anything else."""
    name = called.value if isinstance(called, ast.Subscript) else called
    found = getattr(module, name.id, None) if isinstance(name, ast.Name) else None
    found = next(iter(found.values())) if isinstance(called, ast.Subscript) and found else found
    return found if isinstance(found, Fragment) else None


def filled(fragment, language, chosen):
    names = fragment.names
    values = {name: f"‹{name}›" for name in names.slots} | dict.fromkeys(names.numbers, 3)
    return fragment.fill(language, **dict(zip(names.shape, chosen, strict=True)), **values)


def shapes(fragment):
    """Every shape; of very many some, in which any few values meet. `load` has looked for mistakes on every path."""
    values_of = fragment.names.shape
    every = list(product(*values_of.values()))
    if len(every) <= TRIED:
        return every
    together = list(combinations(range(len(values_of)), MEET))
    sizes = [len(values) for values in values_of.values()]
    missing = sum(math.prod(sizes[place] for place in places) for places in together)
    some, met = [], set()
    for shape in random.Random(1).sample(every, len(every)):
        new = {(places, tuple(shape[place] for place in places)) for places in together} - met
        if new or len(some) < TRIED:
            some.append(shape)
            met |= new
        if len(met) == missing and len(some) >= TRIED:
            break
    return some


def test_every_fragment_can_be_filled_in_every_shape():
    """Other languages have other words in the same shapes. So they get shapes that show every line there is."""
    Fragment.load_all()
    for fragment in Fragment.every:
        shown = set()
        for chosen in shapes(fragment):
            html = filled(fragment, "en", chosen)
            assert "%(" not in html
            lines = set(html.splitlines())
            if not lines <= shown:
                shown |= lines
                for language in LANGUAGES[1:]:
                    assert "%(" not in filled(fragment, language, chosen)


COUNTED = "{% load i18n %}{% blocktranslate count n=number %}one{% plural %}{{ n }}{% endblocktranslate %}"
USED = "{{ slot }}{% if known == 'a' %}{% endif %}" + COUNTED
MISTAKES = {
    "{% if slot %}1{% endif %}": "needs the value of slot",
    "{% if not slot %}1{% endif %}": "needs the value of slot",
    "{% if known and slot == 'a' %}1{% endif %}": "needs the value of slot",
    "{% if number %}1{% endif %}": "needs the value of number",
    "{% if number > 1 %}1{% endif %}": "needs the value of number",
    "{% if other == 'a' %}1{% endif %}": 'other, which has no declared values. .* shape={"other"',
    "{% if other %}{{ other }}{% endif %}": 'needs the value of other, which is also shown. .* shape={"other"',
    "{{ other }}{% if other %}1{% endif %}": 'needs the value of other, which is a slot. .* shape={"other"',
    "{{ slot|upper }}": "needs the value of slot",
    "{{ slot|default:'' }}": "needs the value of slot",
    "{{ known|default:slot }}": "needs the value of slot",
    "{{ slot.part }}": "needs the value of slot",
    "{% for one in slot %}{% endfor %}": "needs the value of slot",
    "{% with name=slot %}{{ name|lower }}{% endwith %}": "needs the value of slot",
    "{% with name=slot %}{% if name %}1{% endif %}{% endwith %}": "needs the value of slot",
    "{% load i18n %}{% blocktranslate asvar text %}{{ slot }}!{% endblocktranslate %}{% if text %}1{% endif %}": "text",
    "{% load i18n %}{% url 'profile' slot as n %}{% blocktranslate count n=n %}{% plural %}{% endblocktranslate %}": (
        "n counts, so it must be a number"
    ),
    "{% url 'profile' slot as place %}{% if place %}1{% endif %}": "needs the value of place",
    "{% include slot %}": "names the templates",
    "{% now 'Y' %}": "cannot have the tag NowNode",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_template_is_found_when_it_is_loaded(made, mistake):
    for source in (USED + mistake, mistake + USED):
        with pytest.raises(FragmentError, match=MISTAKES[mistake]):
            made(source, shape={"known": ("", "a")}).load()


def test_a_name_that_is_declared_and_not_used_is_found(made):
    with pytest.raises(FragmentError, match="end, form declared but not used"):
        made("{{ slot }}", shape={"end": ("", "cap")}, constants={"form": 1}).load()


def test_a_mistake_on_a_path_that_no_page_takes_is_found(made):
    fragment = made("{% if known %}{% if known %}{{ known }}{% endif %}{% endif %}")
    with pytest.raises(FragmentError, match="needs the value of known"):
        fragment.fill("en", known=False)


def test_the_site_says_which_template_is_wrong_before_it_starts(monkeypatch):
    from retwis_site.checks import templates_can_be_filled

    assert templates_can_be_filled() == []
    monkeypatch.setattr(Fragment, "every", [])
    Fragment("timeline/timelines/_stopped.html", shape={"nothing": EITHER})
    [error] = templates_can_be_filled()
    assert (error.id, "nothing declared but not used" in error.msg) == ("retwis.E003", True)


# ---- templates of a site


REPLACING = {
    "{{ other }}": "other is not given",
    "{% if other %}{% endif %}": "other is not given",
    "{% load i18n %}{% blocktranslate %}{{ other }}{% endblocktranslate %}": "other is not given",
    "{% url 'profile' other %}": "other is not given",
    "{% csrf_token %}": "csrf_token is not given",
    "{% if slot %}1{% endif %}": "needs the value of slot",
    "{{ slot|upper }}": "needs the value of slot",
    "{% load i18n %}{% blocktranslate count n=slot %}one{% plural %}{{ n }}{% endblocktranslate %}": "must be a number",
    "{% include 'retwis_site/_message.html' %}": "tags is not given",
}


@pytest.mark.parametrize("mistake", REPLACING)
def test_a_template_of_a_site_has_no_other_names_than_ours(made, mistake):
    fragment = made(USED + "{% if own %}{% endif %}", instead=mistake, shape={"known": ("", "a")})
    with pytest.raises(FragmentError, match=REPLACING[mistake]):
        fragment.load()


def test_a_template_of_a_site_may_leave_names_out_and_ask_for_others_of_ours(made):
    ours = USED + "{% if own %}{% endif %}"
    fragment = made(ours, instead="{{ slot }}{{ own|yesno:'a,b' }}", shape={"known": ("", "a")})
    assert fragment.fill("en", slot="x", own=True, number=2, known="a") == "xa"
    with pytest.raises(FragmentError, match="misspelled"):
        fragment.fill("en", slot="x", own=True, number=2, known="a", misspelled="y")


def test_a_template_of_a_site_may_extend_the_one_that_it_replaces(made):
    site_template = "{% extends 'made1.html' %}{% block a %}{{ block.super }}, {{ around }}{% endblock %}"
    fragment = made("{% block a %}{{ in_a }}{% endblock %}; {{ around }}", instead=site_template)
    assert fragment.fill("en", in_a=1, around=2) == "1, 2; 2"


def test_a_template_of_a_site_may_replace_one_that_is_included(made, folders):
    (folders / "code/part.html").write_text("{{ a }}{{ b }}")
    (folders / "site/part.html").write_text("{{ a }}")
    assert made("{% include 'part.html' %}").fill("en", a=1, b=2) == "1"


def test_a_template_of_an_app_behind_ours_changes_nothing(made, folders, settings):
    """Django looks into the folders of apps last, so a site that puts a template there never sees it."""
    (folders / "app").mkdir()
    (folders / "app/made1.html").write_text("{{ other }}")
    [theirs] = settings.TEMPLATES
    options = {**theirs["OPTIONS"], "loaders": [(LOADER, theirs["DIRS"]), (LOADER, [folders / "app"])]}
    settings.TEMPLATES = [{**theirs, "APP_DIRS": False, "OPTIONS": options}]
    assert made("{{ a }}{{ b }}", instead="{{ b }}").fill("en", a=1, b=2) == "2"


# ---- faults of the pages before


def test_a_form_may_stand_above_the_age_of_a_post(made):
    source = "{% if own %}<form>{% csrf_token %}</form>{% endif %}<time>{{ age }}</time>"
    html = made(source).fill("en", own=True, age="1 minute", csrf_token="t")
    assert html.index('value="t"') < html.index("<time>1 minute</time>")


def test_a_state_of_the_viewer_that_is_not_given_is_an_error_and_never_another_viewers(made):
    liked = made("{% if liked %}liked{% endif %}{% if own %}{% csrf_token %}{% endif %}{{ age }}")
    for is_liked in (True, False, True):
        assert ("liked" in liked.fill("en", own=False, liked=is_liked, age="", csrf_token="")) is is_liked
    with pytest.raises(FragmentError, match="'liked' is not given"):
        liked.fill("en", own=True, age="1 minute", csrf_token="t")


def test_the_name_of_a_slot_may_have_a_number(made):
    names = ("age2", "age", "h1_text", "text22")
    html = made("".join(f"[{{{{ {name} }}}}]" for name in names))
    assert html.fill("en", **{name: name for name in names}) == "[age2][age][h1_text][text22]"


@pytest.mark.parametrize("who", ["<alice>", "Zoë 🌱"])
def test_a_kept_part_keeps_how_it_was_filled_last(made, who):
    def values(age, likes):
        return Values({"age": escaped(age), "likes": escaped(likes)}, (age, likes), 7, 9)

    def fill(age, likes):
        return kept.fill(values(age, likes))

    part = made("{{ who }} {{ age }}, {{ age }}{{ likes }}!")
    kept = part.to_keep("en", values("a minute", ""), who=who)
    first = kept.filled
    assert first.html == f"{escaped(who)} a minute, a minute!".encode()
    assert (first.state, first.since, first.until) == (("a minute", ""), 7, 9)
    longer = fill("1 Stunde für <b>", "23")
    assert kept.filled is longer
    assert longer.html.decode() == f"{escaped(who)} 1 Stunde für &lt;b&gt;, 1 Stunde für &lt;b&gt;23!"
    assert fill("a minute", "") == first


def test_a_kept_part_may_begin_and_end_with_a_slot(made):
    def values(who, age):
        return Values({"who": escaped(who), "age": escaped(age)}, None, 7, 9)

    kept = made("{{ who }}{{ age }}").to_keep("en", values("a", "b"))
    assert kept.filled.html == b"ab"
    assert kept.fill(values("", "ccc")).html == b"ccc"
    assert kept.fill(values("d", "e")).html == b"de"


def test_one_slot_of_a_kept_part_is_filled_anew_while_the_others_stay(made):
    values = Values({"text": escaped("a long text"), "age": escaped("1 h")}, "today", 7, 9)
    kept = made("{{ who }}: {{ text }}, {{ age }}").to_keep("en", values, who="alice")
    filled = kept.filled
    assert kept.filled_but(filled, {"text": escaped("tea & cake")}) == b"alice: tea &amp; cake, 1 h"
    assert kept.filled_but(filled, {"text": escaped("")}) == b"alice: , 1 h"
