import pytest

from tests.support.deploy.machine import deployment


@pytest.fixture(scope="module", params=["gunicorn", "uwsgi"])
def machine(request):
    """A machine with the files of deploy/: store, worker, web processes and nginx run."""
    with deployment(request.param) as machine:
        yield machine
