"""`/livez` and `/readyz` can be asked by any host name: load balancers name the machine, not the site."""

import pytest

HOSTS = ["10.0.0.7:8000", "web-1", "evil.example", "[fe80::1]", "under_score", "", "a b", "x" * 300, "host:99999999"]


@pytest.mark.parametrize("allowed", [["retwis.example"], [".retwis.example"], ["*"]])
@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_health_checks_take_any_host(settings, browser, path, allowed):
    settings.ALLOWED_HOSTS = allowed
    assert {browser().get(path, headers={"host": host}).status_code for host in HOSTS} == {200}


@pytest.mark.parametrize("path", ["/", "/login/", "/livez/", "/robots.txt", "/@livez/"])
def test_other_addresses_do_not(settings, browser, path):
    settings.ALLOWED_HOSTS = ["retwis.example"]
    assert {browser().get(path, headers={"host": host}).status_code for host in HOSTS if host} == {400}


def test_a_form_sent_to_a_health_check_is_still_refused(settings, browser):
    settings.ALLOWED_HOSTS = ["retwis.example"]
    assert browser().post("/livez", headers={"host": "evil.example"}).status_code == 405
