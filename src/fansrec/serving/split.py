"""A split of the requests without a model between several models, by a hash of a key that the client sends."""

import math
from collections.abc import Mapping
from hashlib import blake2b

HASH_BYTES = 8


class Split:
    """The shares of the models. Equal keys get the same model in every process, and after every restart."""

    def __init__(self, shares: Mapping[str, float], salt: str = "") -> None:
        total = math.fsum(shares.values())
        self.shares = {name: share / total for name, share in shares.items()}
        self._hashes = {name: blake2b(f"{salt}\0{name}\0".encode(), digest_size=HASH_BYTES) for name in sorted(shares)}

    def assign(self, client: str) -> str:
        """Return the model of a key: weighted rendezvous hashing.

        Each model draws a time from the key and its own name, exponentially distributed with its share as the rate, and
        the earliest one wins. A time depends on no other model, so a change moves keys only to models whose share grew
        in relation to that of the model they leave.
        """
        key = client.encode("utf-8", "surrogatepass")
        return min(self.shares, key=lambda name: (self._time(name, key), name))

    def _time(self, name: str, key: bytes) -> float:
        """Return the time that the model draws for the key."""
        drawn = self._hashes[name].copy()
        drawn.update(key)
        uniform = (int.from_bytes(drawn.digest(), "big") + 0.5) / 2 ** (8 * HASH_BYTES)
        return -math.log(uniform) / self.shares[name]


def parse_split(text: str) -> dict[str, float]:
    """Return the shares in `NAME:SHARE,NAME:SHARE`; raise ValueError, whose message continues a sentence."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, separator, share = part.strip().rpartition(":")
        try:
            value = float(share)
        except ValueError:
            separator = ""
        if not (separator and name):
            raise ValueError("must be of the form NAME:SHARE,NAME:SHARE, such as a:90,b:10")
        if name in shares:
            raise ValueError(f"names {name} twice; give each model one share")
        shares[name] = value
    return shares
