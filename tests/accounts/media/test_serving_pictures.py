"""Pictures are served to everyone and for ever, with nothing that a browser could run."""

from accounts.media.repository import Pictures
from retwis_site.exceptions import StoreError
from tests.support.pictures import decoded_picture


def test_a_picture_is_immutable_and_asks_for_no_session(browser, alice, store, sent):
    red = decoded_picture()
    Pictures(store).add(1, red)
    for name, content in red.files.items():
        sent.round_trips.clear()
        answer = browser(alice).get(f"/media/{red.digest}{name}.webp")
        assert (answer.status_code, answer.content) == (200, content)
        assert [[command[0] for command in trip.commands] for trip in sent.round_trips] == [["GET"]]
    assert answer["Content-Type"] == "image/webp"
    assert answer["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer["ETag"] == f'"{red.digest}-600"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert (answer["Cross-Origin-Resource-Policy"], answer["Access-Control-Allow-Origin"]) == ("cross-origin", "*")
    assert "Vary" not in answer
    assert not answer.cookies
    again = browser().get(f"/media/{red.digest}.webp", headers={"if-none-match": f'"{red.digest}"'})
    assert (again.status_code, again.content, again["Access-Control-Allow-Origin"]) == (304, b"", "*")


def test_what_is_not_there_is_not_found(browser, raw):
    assert browser().get(f"/media/{'0' * 40}.webp").status_code == 404
    assert browser().get("/media/../../etc/passwd.webp").status_code == 404
    assert "frame-ancestors 'none'" in browser().get(f"/media/{'0' * 40}.webp")["Content-Security-Policy"]


def test_a_failure_of_the_store_is_no_missing_picture(browser, raw, monkeypatch):
    def fail(*_):
        raise StoreError("down")

    monkeypatch.setattr(Pictures, "file", fail)
    assert browser().get(f"/media/{'0' * 40}.webp").status_code == 503
