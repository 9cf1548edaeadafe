"""What every engine refuses, with the same message."""

import numpy as np
import pytest

from fansrec.engine.backends import open_engine
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting
from fansrec.models.fans import Fans, FansConfig

FANS = Fans(FansConfig((0, 20, 40), 30, width=16, heads=2, feedforward=32)).eval()
KNOWN = np.array([1, 2])
REFUSED = {
    "an item beyond the last": (np.array([40]), lambda: Rules(), "from 0 to 39"),
    "an item below the first": (np.array([-1]), lambda: Rules(), "from 0 to 39"),
    "an exclusion below the first": (KNOWN, lambda: Rules(exclude=[-1]), "from 0 to 39"),
    "an allowance beyond the last": (KNOWN, lambda: Rules(allow=[3, 40]), "from 0 to 39"),
    "too few groups": (KNOWN, lambda: Rules(groups=np.arange(39), max_per_group=1), "39 groups for 40 items"),
}


@pytest.mark.parametrize("backend", ["torch", "native"])
@pytest.mark.parametrize("what", REFUSED)
def test_invalid_indices_are_refused(what: str, backend: str) -> None:
    given, rules, message = REFUSED[what]
    engine = open_engine(FANS, 40, backend=backend)
    for _ in range(2):  # twice: a refused call leaves no state behind
        with pytest.raises(BadSetting, match=message):
            engine.continue_lists([given], 3, rules())


@pytest.mark.parametrize("backend", ["torch", "native"])
def test_rules_copy_the_lists_they_are_made_from(backend: str) -> None:
    excluded: list[int] = []
    rules, engine = Rules(exclude=excluded), open_engine(FANS, 40, backend=backend)
    (before,) = engine.continue_lists([KNOWN], 5, rules)
    excluded += before.items.tolist()
    (after,) = engine.continue_lists([KNOWN], 5, rules)
    assert after.items.tolist() == before.items.tolist()
    (others,) = engine.continue_lists([KNOWN], 5, Rules(exclude=excluded))
    assert not set(others.items.tolist()) & set(before.items.tolist())
