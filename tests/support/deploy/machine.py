"""The files of deploy/, running, in a folder instead of the whole machine and at other ports."""

import contextlib
import http.client
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path

import redis
import trustme
from django.conf import settings

from tests.settings import folder
from tests.support.http.http_browser import TIMEOUT, Browser
from tests.support.processes.processes import free_ports, running_group, wait_until


class _Connection(http.client.HTTPSConnection):
    """To this machine, whatever the name of the host."""

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.port), TIMEOUT, self.source_address)
        self.sock = self._context.wrap_socket(plain, server_hostname=self.host)


class _To(urllib.request.HTTPSHandler):
    def __init__(self, context, address):
        super().__init__(context=context)
        self._source = (address, 0)

    def https_open(self, request):
        return self.do_open(_Connection, request, context=self._context, source_address=self._source)


class TlsBrowser(Browser):
    """`certificates`: what it trusts, as a file. `headers` go with each request, beside those of a browser."""

    def __init__(self, host, port, certificates, address="127.0.0.1", **headers):
        self._open_at(f"https://{host}:{port}", _To(ssl.create_default_context(cafile=certificates), address))
        self._opener.addheaders = [("Origin", self.origin), *headers.items()]

    def cookies(self):
        """The names of all cookies."""
        return {cookie.name for cookie in self._cookies}

    def write(self, body):
        """Post a text at home."""
        status, page = self.open("/post/", {**self.ask("/").form("/post/"), "body": body})
        assert status == 200, page


ROOT = settings.BASE_DIR
HOST = "retwis.example"
# redis.conf waits for the disk at each write. While packages are installed beside the tests, that takes longer than the
# site waits for the store, so the store is where there is no disk.
MEMORY = "/dev/shm"  # noqa: S108
SITE_PASSWORD, ADMIN_PASSWORD = "password-of-the-site", "password-of-the-administrator"
NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
{user}
events {{ worker_connections 8192; }}
http {{
    include /etc/nginx/mime.types;
    access_log off;
    client_body_temp_path {folder}/tmp/body;
    proxy_temp_path {folder}/tmp/proxy;
    uwsgi_temp_path {folder}/tmp/uwsgi;
    fastcgi_temp_path {folder}/tmp/fastcgi;
    scgi_temp_path {folder}/tmp/scgi;
    include {folder}/site.conf;
}}
"""


def deployed(name):
    """The text of a file of deploy/."""
    return (ROOT / "deploy" / name).read_text()


def setting(text, name):
    """The values of a setting in a unit's file."""
    return re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)


class Machine:
    """Has the paths `/run`, `/var` and `/etc` in its folder."""

    def __init__(self):
        self.folder = folder("retwis-machine-")
        self.http, self.https, self.metrics, self.port = free_ports(4)
        for path in (
            "run/retwis",
            "run/redis",
            "var/lib/retwis",
            "var/log/redis",
            "var/log/nginx",
            "var/cache",
        ):
            self.path(path).mkdir(parents=True)
        for path in ("etc/redis", f"etc/letsencrypt/live/{HOST}", "var/www/html", "tmp"):
            self.path(path).mkdir(parents=True)
        self.path("var/lib/redis").symlink_to(folder("retwis-machine-store-", MEMORY))
        self.path("etc/retwis.env").write_text(self.text("retwis.env.example"))
        self._certify()

    def path(self, *parts):
        return Path(self.folder, *parts)

    def text(self, name):
        """A file of deploy/ for this machine."""
        text = re.sub(r"(?<![\w.])(/(?:run|var|etc)/)", rf"{self.folder}\1", deployed(name))
        text = text.replace("SITE-PASSWORD", SITE_PASSWORD).replace("ADMIN-PASSWORD", ADMIN_PASSWORD)
        text = text.replace("#METRICS_PORT=8001", f"METRICS_PORT={self.metrics}")
        text = re.sub(r"(listen (?:\[::\]:)?)80\b", rf"\g<1>{self.http}", text)
        text = re.sub(r"(listen (?:\[::\]:)?)443\b", rf"\g<1>{self.https}", text)
        return text if _has_ipv6() else re.sub(r".*listen \[::\]:.*\n", "", text)

    def environment(self):
        """What the units have: the variables of retwis.env."""
        lines = [line for line in self.path("etc/retwis.env").read_text().splitlines() if line and line[0] != "#"]
        own = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return {**own, "PYTHONPATH": str(ROOT), **dict(line.split("=", 1) for line in lines)}

    def command(self, line):
        """A command of a file of deploy/, with the programs of the environment that runs the tests."""
        program, *arguments = shlex.split(line)
        return [*_PROGRAMS[program.removeprefix("/opt/retwis/venv/bin/")], *arguments]

    def nginx(self, *arguments):
        program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
        return [program, "-c", f"{self.folder}/nginx.conf", *arguments]

    def write_nginx(self, server="gunicorn", top=""):
        """Write nginx's configuration: nginx.conf, for uWSGI with the other `location /`, for `serve` with its port.
        `top`: the site's path, as docs/running.md says."""
        text = self.text("nginx.conf")
        if server == "serve":
            text = text.replace(f"server unix:{self.folder}/run/retwis/web.sock", f"server 127.0.0.1:{self.port}")
        if server == "uwsgi":
            one = re.compile(r"    # Each header of the client.*\n    location / \{\n(?:        .*\n)*    \}\n")
            text, replaced = one.subn(lambda _: self.text("nginx-uwsgi.conf"), text)
            assert replaced == 1
            text = text.replace("proxy_cache_path", "uwsgi_cache_path")
        if top:
            static = f"location /static/ {{\n        root {self.folder}/var/lib/retwis;"
            at_top = f"location {top}/static/ {{\n        alias {self.folder}/var/lib/retwis/static/;"
            tls, _, end = text.rpartition("    location / {")
            assert static in tls
            tls = tls.replace(static, at_top).replace("location ~ ^/static", f"location ~ ^{top}/static")
            end = re.sub(r"location (= |~ \^)?/", rf"location \1{top}/", end)
            text = f"{tls}    location {top}/ {{{end}"
            text = re.sub(r" /static/(down|too_large)\.", rf" {top}/static/\1.", text)
        self.path("site.conf").write_text(text)
        user = "user root;" if os.geteuid() == 0 else ""
        self.path("nginx.conf").write_text(NGINX.format(folder=self.folder, user=user))

    def prepare_store(self):
        """Write the configuration of the server and its users."""
        for name in ("redis.conf", "users.acl"):
            self.path("etc/redis", name).write_text(self.text(name))

    @contextlib.contextmanager
    def store(self):
        """Run a server with redis.conf and users.acl. Yields a client of the administrator."""
        self.prepare_store()
        address = f"unix://default:{ADMIN_PASSWORD}@{self.folder}/run/redis/redis-server.sock"
        with (
            self.running(["redis-server", f"{self.folder}/etc/redis/redis.conf"], "redis"),
            redis.Redis.from_url(address, decode_responses=True) as administrator,
        ):
            wait_until(administrator.ping, "the store")
            yield administrator

    def running(self, command, name):
        """Run a command for the block. Its output is in the file `<name>.out`."""
        return running_group(command, self.path("var/lib/retwis"), self.environment(), self.path(f"{name}.out"))

    def printed(self, name):
        return self.path(f"{name}.out").read_text()

    def scrape(self):
        """What Prometheus reads."""
        return Browser(self.metrics).ask("/metrics").page

    def browser(self, address="127.0.0.1", **headers):
        return TlsBrowser(HOST, self.https, self.path("ca.pem"), address, **headers)

    @contextlib.contextmanager
    def connected(self, address="127.0.0.1"):
        """A connection over TLS to the host of the site, from this address."""
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        with (
            socket.create_connection(("127.0.0.1", self.https), 10, (address, 0)) as plain,
            context.wrap_socket(plain, server_hostname=HOST) as connection,
        ):
            yield connection

    def answer_to_too_large(self, path):
        """What a form with pictures of 100 MB gets, of which nginx reads the head alone."""
        with self.connected() as connection:
            head = f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 104857600\r\n\r\n"
            connection.sendall(head.encode())  # and nothing else
            answer = b""
            while b"Pictures may have 24 MB together." not in answer:
                part = connection.recv(65536)
                assert part, answer
                answer += part
        return answer

    def _certify(self):
        authority = trustme.CA()
        certificate = authority.issue_cert(HOST)
        authority.cert_pem.write_to_path(self.path("ca.pem"))
        where = self.path(f"etc/letsencrypt/live/{HOST}")
        certificate.private_key_pem.write_to_path(where / "privkey.pem")
        for part in certificate.cert_chain_pems:
            part.write_to_path(where / "fullchain.pem", append=True)


_PROGRAMS = {
    "retwis": [sys.executable, str(ROOT / "manage.py")],
    "gunicorn": [sys.executable, "-m", "gunicorn"],
    "waitress-serve": [sys.executable, "-m", "waitress"],
    "uwsgi": [str(Path(sys.executable).with_name("uwsgi"))],
}


def _documented_waitress():
    """The command of docs/running.md."""
    text = (ROOT / "docs/running.md").read_text().replace("\\\n", " ")
    return re.search(r"^ExecStart=(\S+/waitress-serve .*)$", text, re.MULTILINE)[1]


def _has_ipv6():
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


@contextlib.contextmanager
def deployment(server, top=""):
    """A machine with store, worker, web processes under gunicorn, uwsgi, waitress or `retwis serve`, and nginx. `top`:
    the path of the site."""
    machine = Machine()
    with machine.path("etc/retwis.env").open("a") as file:
        file.write(f"SCRIPT_NAME={top}\n")
    web, worker = machine.text("retwis-web.service"), machine.text("retwis-deliver.service")
    [prepare], [serve] = setting(web, "ExecStartPre"), setting(web, "ExecStart")
    commands = {"web": serve, "deliver": setting(worker, "ExecStart")[0]}
    if server == "uwsgi":
        machine.path("etc/retwis").mkdir()
        machine.path("etc/retwis/uwsgi.ini").write_text(machine.text("uwsgi.ini"))
        commands["web"] = re.findall(r"^#   ExecStart=(.+)$", machine.text("uwsgi.ini"), re.MULTILINE)[0]
    elif server == "serve":
        commands = {"web": f"retwis serve --port {machine.port}"}
    elif server == "waitress":
        commands["web"] = _documented_waitress().replace("/run/", f"{machine.folder}/run/")
    machine.write_nginx(server, top)
    subprocess.run(machine.command(prepare), env=machine.environment(), check=True)
    with contextlib.ExitStack() as services:
        machine.raw = services.enter_context(machine.store())
        for name, command in commands.items():
            services.enter_context(machine.running(machine.command(command), name))
        services.enter_context(machine.running(machine.nginx(), "nginx"))
        wait_until(lambda: machine.browser().open(f"{top}/readyz")[0] == 200, "the site")
        yield machine
