"""Names that nobody may register."""

import pytest
from django.core.management import call_command

from accounts.joining.joining import Joining
from accounts.joining.names import BlockedNames, check_name
from accounts.joining.refusals import NameRefused


@pytest.mark.parametrize("name", ["Admin", "admi_n", "R00t", "settings", "login", "supp0rt"])
def test_words_of_the_site_and_what_looks_like_them_are_refused(store, raw, name):
    with pytest.raises(NameRefused):
        check_name(store, name)


@pytest.mark.parametrize(("taken", "new"), [("paul", "pauI"), ("lo0k", "look"), ("Max", "rnax"), ("ann", "a_nn_")])
def test_a_name_that_looks_like_an_existing_one_is_refused(store, raw, taken, new):
    Joining(store).join("open", taken, "hash", "", "")
    with pytest.raises(NameRefused):
        Joining(store).join("open", new, "hash", "", "")


def test_a_blocked_word_is_refused_until_it_is_unblocked(store, raw):
    call_command("names", "--block", "Spam*", verbosity=0)
    assert list(raw.hgetall("blocked_names")) == ["spam*"]
    with pytest.raises(NameRefused):
        check_name(store, "sparn_king")
    check_name(store, "king_spam")
    call_command("names", "--unblock", "Spam*", verbosity=0)
    assert BlockedNames(store).all() == []
    check_name(store, "spammer")
