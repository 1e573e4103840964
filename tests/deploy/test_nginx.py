"""nginx takes the configuration."""

import subprocess

import pytest

from tests.support.deploy.machine import Machine


@pytest.mark.parametrize("server", ["gunicorn", "uwsgi"])
def test_nginx_takes_the_configuration_without_a_warning(server):
    machine = Machine()
    machine.write_nginx(server)
    answer = subprocess.run(machine.nginx("-t"), capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert "[warn]" not in answer.stderr
