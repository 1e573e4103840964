"""The password hash: Argon2id at OWASP's first recommended setting."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class LeanArgon2PasswordHasher(Argon2PasswordHasher):
    """19 MiB a hash. Django's default of 100 MiB is a way to run a small server out of memory.

    Source: OWASP Password Storage Cheat Sheet (m=19456 KiB, t=2, p=1).
    """

    time_cost = 2
    memory_cost = 19456  # KiB
    parallelism = 1
