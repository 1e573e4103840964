"""Work that dies before one of its round trips."""

import contextlib


class Killed(BaseException):
    """Nothing catches it, as nothing catches SIGKILL."""


def killed_before_trip(monkeypatch, number, work):
    """Run `work`, which dies before its round trip `number`; whether it got that far."""
    from retwis_site.store import client as store_module

    left = iter(range(number))
    real = store_module._one_trip

    @contextlib.contextmanager
    def mortal(commands):
        if next(left, None) is None:
            raise Killed
        with real(commands):
            yield

    with monkeypatch.context() as patched:
        patched.setattr(store_module, "_one_trip", mortal)
        try:
            work()
        except Killed:
            return True
    return False
