"""RETWIS_ENV_FILE: settings from a file in dotenv form."""

import os
import re

import pytest
from django.conf import settings

from tests.support.processes.fresh_process import run_code
from tests.support.processes.processes import environment, manage

PRINT = "from django.conf import settings; print(settings.PORT, settings.REDIS_KEY_PREFIX, settings.SECRET_KEY)"


def settings_with(tmp_path, **variables):
    """A process that prints three settings."""
    kept = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "retwis_site.settings", "VAR_DIR": str(tmp_path)}
    return run_code(PRINT, {**kept, **variables})


@pytest.fixture
def written(tmp_path):
    """`written("PORT=9000")` is the path of a file with this text."""

    def write(text):
        path = tmp_path / "retwis.env"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def test_settings_come_from_the_file(tmp_path, written):
    text = "# the site\n\nexport PORT=9000\nREDIS_KEY_PREFIX='a b:'  # quoted\nSECRET_KEY=\"${PORT}$x#y\"\n"
    ended = settings_with(tmp_path, RETWIS_ENV_FILE=written(text))
    assert (ended.stdout, ended.stderr) == ("9000 a b: ${PORT}$x#y\n", "")


def test_a_variable_of_the_environment_wins_also_an_empty_one(tmp_path, written):
    path = written("PORT=9000\nREDIS_KEY_PREFIX=file:\nSECRET_KEY=s\n")
    assert settings_with(tmp_path, RETWIS_ENV_FILE=path, PORT="7", REDIS_KEY_PREFIX="").stdout == "7  s\n"


def test_a_variable_of_the_environment_wins_also_with_other_white_space(tmp_path, written):
    """It was taken for what systemd makes of the line, and nothing began."""
    path = written("REDIS_KEY_PREFIX='my club:'\nSECRET_KEY=s\n")
    assert settings_with(tmp_path, RETWIS_ENV_FILE=path, REDIS_KEY_PREFIX="myclub:").stdout == "8000 myclub: s\n"


def test_without_the_variable_no_file_is_read(tmp_path, written):
    written("PORT=9000\n")
    assert settings_with(tmp_path, SECRET_KEY="s").stdout == "8000  s\n"


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    path = str(tmp_path / "missing.env")
    ended = settings_with(tmp_path, RETWIS_ENV_FILE=path)
    assert ended.returncode == 1
    assert f"RETWIS_ENV_FILE={path!r} cannot be read: No such file or directory." in ended.stderr


def test_a_command_ends_in_one_line(tmp_path):
    path = str(tmp_path / "missing.env")
    ended = manage("doctor", env=environment(tmp_path, RETWIS_ENV_FILE=path))
    assert ended.returncode == 1
    assert ended.stderr == f"CommandError: RETWIS_ENV_FILE={path!r} cannot be read: No such file or directory.\n"


NO_SETTINGS = ("PORT", "PORT 9000", "=9000", "REDIS_KEY_PREFIX='hidden", "PORT=hidden\0")
NEARLY = ("ALLOWED_HOST", "HTTP", "REDIS_ULR", "TRUSTED_PROXY", "METRICS_PROT", "https", "Allowed_Hosts")
MISTAKES = [
    *((f"SECRET_KEY=s\n{line}\n", "line 2: write NAME=value.") for line in NO_SETTINGS),
    *((f"SECRET_KEY=s\n{name}=1\n", f"{name} is no setting of the site. Is ") for name in NEARLY),
    ("REDIS_URL=redis://:hidden@one\n#\nREDIS_URL='redis://two'\n", "line 3: line 1 has set REDIS_URL. Remove one of"),
    (b"SECRET_KEY=\xff\n", "it is not UTF-8."),
]


@pytest.mark.parametrize(("text", "says"), MISTAKES, ids=[says for _, says in MISTAKES])
def test_a_mistake_in_the_file_is_an_error_that_says_where_and_shows_no_value(tmp_path, written, text, says):
    ended = settings_with(tmp_path, RETWIS_ENV_FILE=written(text))
    assert ended.returncode == 1
    assert says in ended.stderr
    assert "hidden" not in ended.stderr


def test_the_file_may_have_variables_for_other_programs(tmp_path, written):
    text = "SECRET_KEY=s\nTZ=UTC\nWEB_CONCURRENCY=4\nNODE_ENV=production\nGUNICORN_CMD_ARGS=--preload\nCLUB_NAME=x\n"
    text += "https_proxy=x\n"
    assert settings_with(tmp_path, RETWIS_ENV_FILE=written(text)).returncode == 0


def test_the_name_of_the_file_is_spelt_as_the_site_knows_it(tmp_path, written):
    ended = settings_with(tmp_path, RETWIS_ENVFILE=written("SECRET_KEY=s\n"))
    assert "RETWIS_ENVFILE is no setting of the site. Is RETWIS_ENV_FILE meant?" in ended.stderr


def test_the_example_has_no_name_twice():
    text = (settings.BASE_DIR / "deploy/retwis.env.example").read_text()
    names = re.findall(r"^#?([A-Z_]+)=", text, re.MULTILINE)
    assert len(names) == len(set(names)) > 5


@pytest.mark.parametrize("line", ["DJANGO_SETTINGS_MODULE=club.settings", "PYTHONPATH=/opt/retwis/own"])
def test_a_variable_that_is_read_before_the_file_is_an_error_unless_the_environment_has_it_too(tmp_path, written, line):
    path, (name, value) = written(f"SECRET_KEY=s\n{line}\n"), line.split("=")
    ended = settings_with(tmp_path, RETWIS_ENV_FILE=path)
    assert ended.returncode == 1
    assert f"has {name}, and is read too late for it. Set it in the environment." in ended.stderr
    printed = run_code(
        "import retwis_site.settings; print('read')",
        {"PATH": os.environ["PATH"], "VAR_DIR": str(tmp_path), "RETWIS_ENV_FILE": path, name: value},
    )
    assert printed.stdout == "read\n"


# Lines, and what systemd 252 reads in them (its generator of environment.d has the same parser as EnvironmentFile=).
TWO_READINGS = [
    ("REDIS_KEY_PREFIX=hidden: # the club", "hidden: # the club"),
    ('REDIS_KEY_PREFIX="hidden:"  # the club', "hidden:# the club"),
    ("REDIS_KEY_PREFIX=hid\\den:", "hidden:"),
    ('REDIS_KEY_PREFIX="hid\\nden:"', "hid\\nden:"),
]


@pytest.mark.parametrize(("line", "of_systemd"), TWO_READINGS)
def test_a_line_that_systemd_reads_differently_is_an_error_in_a_unit(tmp_path, written, line, of_systemd):
    """Else its web processes use other keys than the commands of the operator, without a word."""
    path = written(f"SECRET_KEY=s\n{line}\n")
    assert settings_with(tmp_path, RETWIS_ENV_FILE=path).returncode == 0
    ended = settings_with(tmp_path, RETWIS_ENV_FILE=path, REDIS_KEY_PREFIX=of_systemd)
    assert ended.returncode == 1
    assert "line 2: systemd takes another value of REDIS_KEY_PREFIX from it." in ended.stderr
    assert "hidden" not in ended.stderr
