"""Two thousand connections from one address, that give nothing: nginx keeps them from `serve`, so people at other
addresses do not notice. What they do takes about as long as without the attack, on the same site in the same run."""

import ssl
from itertools import count
from statistics import median

import pytest

from tests.support.deploy.machine import HOST, deployment
from tests.support.http.hostile_connections import KINDS, Attack, User, slowest, used
from tests.support.runs.figures import within

ATTACKER = "127.0.0.2"
CONNECTIONS = 2000
ROUNDS = 6  # an address may ask 100 times at once, and then 20 times a second
AT_MOST = 1.0  # seconds, for the slowest of a hundred
SLOWER_AT_MOST = 5  # times as long as without the attack: nginx makes as many handshakes
ADDRESSES = count(3)  # of users


@pytest.fixture(scope="module")
def machine():
    with deployment("serve") as machine:
        yield machine


@pytest.mark.parametrize("kind", KINDS)
def test_a_user_at_another_address_notices_nothing(machine, kind):
    within(AT_MOST, lambda: during_an_attack(machine, kind))


def during_an_attack(machine, kind):
    """The slowest of each hundred answers."""
    addresses = [f"127.0.0.{next(ADDRESSES)}" for _ in range(3)]
    users = [User(lambda address=address: machine.browser(address)) for address in addresses]
    context = ssl.create_default_context(cafile=machine.path("ca.pem"))
    request = KINDS[kind].replace(b"Host: localhost", b"Host: " + HOST.encode())
    quiet = used(users, ROUNDS)
    attack = Attack(
        machine.https, ATTACKER, request, CONNECTIONS, lambda plain: context.wrap_socket(plain, server_hostname=HOST)
    )
    with attack.going_on():
        attacked = used(users, ROUNDS)
    usual, longer = (sum(median(times) for times in each.values()) for each in (quiet, attacked))
    assert longer <= SLOWER_AT_MOST * usual
    return {f"{name} during {kind}": slowest(times) for name, times in attacked.items()}
