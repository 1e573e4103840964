"""Mutants: the site with a fault of order planted into it, one at a time, and the tests that must find it.

The commands of one round trip have no order, other processes act between any two of them, and each process may die at
any moment. So the faults are of these kinds: a read joins the round trip that writes, a look is left out, a job is
removed before its work, and a process writes after its lease.
"""
