"""Moves slots between the servers of a cluster."""

import contextlib

from tests.support.stores import acl_users


def migrate(giving, target, key):
    identity = ("AUTH2", acl_users.ADMIN, acl_users.PASSWORDS[acl_users.ADMIN])
    giving.execute_command("MIGRATE", target.host, target.port, key, 0, 5000, *identity)


@contextlib.contextmanager
def on_its_way(cluster, key):
    """In this block the slot of a key belongs to the old server, while the key is already on the new one."""
    slot = cluster.keyslot(key)
    source = cluster.nodes_manager.get_node_from_slot(slot)
    target = next(node for node in cluster.get_primaries() if node.name != source.name)
    giving, taking = (cluster.get_redis_connection(node) for node in (source, target))
    ids = [giving.cluster("myid"), taking.cluster("myid")]
    taking.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
    giving.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
    try:
        migrate(giving, target, key)
        yield
    finally:
        for client in (taking, giving):
            client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", ids[1])
        cluster.nodes_manager.initialize()
