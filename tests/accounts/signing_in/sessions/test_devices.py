"""What a device is called, from its User-Agent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.signing_in.sessions.entities import BROWSERS, LONGEST_READ, SYSTEMS, Device, device_of

MOZILLA = "Mozilla/5.0"


@pytest.mark.parametrize(
    ("header", "browser", "system"),
    [
        (f"{MOZILLA} (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox", "Linux"),
        (f"{MOZILLA} (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/120.0 Safari/537.36", "Chrome", "Windows"),
        (f"{MOZILLA} (Windows NT 10.0) AppleWebKit/537.36 Chrome/120.0 Safari/537.36 Edg/120.0", "Edge", "Windows"),
        (f"{MOZILLA} (Macintosh; Intel Mac OS X 14_1) AppleWebKit/605 Version/17.1 Safari/605.1", "Safari", "macOS"),
        (f"{MOZILLA} (iPhone; CPU iPhone OS 17_1 like Mac OS X) Version/17.1 Safari/604.1", "Safari", "iPhone"),
        (f"{MOZILLA} (iPhone; CPU iPhone OS 17_1 like Mac OS X) CriOS/120.0 Safari/604.1", "Chrome", "iPhone"),
        (f"{MOZILLA} (iPad; CPU OS 17_1 like Mac OS X) FxiOS/121.0 Safari/604.1", "Firefox", "iPad"),
        (f"{MOZILLA} (Linux; Android 14) SamsungBrowser/23.0 Chrome/115.0 Safari/537", "Samsung Internet", "Android"),
        (f"{MOZILLA} (X11; CrOS x86_64 14541) Chrome/120.0 Safari/537.36 OPR/106.0", "Opera", "ChromeOS"),
        ("curl/8.5.0", "curl", ""),
        ("", "", ""),
        ("Retwis for robots", "", ""),
    ],
)
def test_a_device_has_the_name_that_people_know(header, browser, system):
    assert device_of(header) == Device(browser, system)


@given(st.text() | st.sampled_from([*BROWSERS, *SYSTEMS, ":", "\0", "\n"]).map(lambda part: f"<{part}:1:2"))
def test_no_header_brings_anything_else_into_the_store(header):
    device = device_of(header)
    assert device.browser in {"", *BROWSERS.values()}
    assert device.system in {"", *SYSTEMS.values()}


def test_no_name_has_the_sign_that_parts_them():
    assert not any(":" in name for name in (*BROWSERS.values(), *SYSTEMS.values()))


def test_only_the_beginning_of_a_header_is_read():
    assert device_of("x" * LONGEST_READ + "Firefox/1") == Device()
