"""Each call its own seed, from the base seed of the config and the call's key."""

import hashlib

_SEED_BITS = 31
"""Seeds are nonnegative and fit a signed 32-bit integer, which is what the narrowest servers take."""


def call_seed(base: int, key: str) -> int:
    """The seed of the call ``key``, in 0..2**31-1.

    The same base and key give the same seed on every machine and in every session, so that a resumed run sends what
    an unbroken one would have; two samples of one problem get different seeds, so they are not one sample twice.
    """
    digest = hashlib.sha256(f"{base}\0{key}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _SEED_BITS)
