"""A trained model that continues lists of the user's own items: `fansrec.load(RUN).continue_lists(…)`."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.api.answers import Answer as Answer
from fansrec.api.answers import Position as Position
from fansrec.api.arguments import check_items, check_lists, check_whole, plain
from fansrec.api.explanations import Explanations
from fansrec.api.formatting import Details, format_answer, item_details
from fansrec.api.popular import NONE, POPULAR, PopularItems, check_fallback
from fansrec.api.rules import make_rules
from fansrec.api.similar import ItemVectors, SimilarItems
from fansrec.api.unknown import UNKNOWN, DidYouMean, is_unknown, refuse_unknown
from fansrec.artifact import Artifact, read_artifact
from fansrec.engine.backends import open_engine
from fansrec.engine.interface import Continuation, Engine
from fansrec.engine.rules import Rules
from fansrec.engine.traits import ItemTraits, traits_of
from fansrec.errors import BadSetting


class Continuer:
    """A model, its vocabulary and its engine; item ids and names become item indices here, and back.

    `fansrec.load` returns one.
    """

    def __init__(
        self,
        artifact: Artifact,
        device: str = "cpu",
        backend: str = "auto",
        generation: str | None = None,
        engine: Engine | None = None,
    ) -> None:
        """Open an engine for the model, unless there is one."""
        self.artifact = artifact
        self.vocabulary = artifact.vocabulary
        if engine is None:
            engine = open_engine(artifact.stored, len(artifact.vocabulary), device, generation, backend)
        self.engine = engine
        self._popular = PopularItems(artifact, engine)

    def continue_lists(
        self,
        lists: Iterable[Iterable[object]],
        k: int = 10,
        *,
        exclude: Iterable[object] = (),
        allow: Iterable[object] | None = None,
        categories: Iterable[str] | None = None,
        max_per_group: int | None = None,
        min_score: float | None = None,
        keep_seen: bool = False,
        fill: str = "by-position",
        fallback: str = NONE,
        diversity: float = 0.0,
        popularity: float = 0.0,
        freshness: float = 0.0,
        explain: bool = False,
    ) -> list[Answer]:
        """Return the continuation of each list.

        Of several lists, one of only unknown items gets an empty answer that says so.

        Args:
            lists: Lists of item ids or names; a list may be empty.
            k: How many distinct items each continuation has; fewer, with a reason, if the rules leave fewer.
            exclude: Items that are never answered.
            allow: The only items that may be answered; by default all items of the model.
            categories: The only categories whose items may be answered; by default all of them.
            max_per_group: Maximum number of items of one group (artist, author) in an answer.
            min_score: Items with a lower score are left out.
            keep_seen: Whether items of the input may be answered again.
            fill: How positions share the items: by-position, depth-first or arranged.
            fallback: What a list of only unknown items gets: none, or popular for the most popular items.
            diversity: How much the items of an answer are to differ, 0 to 1; at 0, the model's own answer.
            popularity: -1 to 1: below 0 prefers niche items, above 0 popular ones.
            freshness: How much items with a late date are preferred, 0 to 1; needs dates of items.
            explain: Whether each position gets an explanation; the default model, V-STAN and linear models can.

        Returns:
            One answer for each list.

        Raises:
            UnknownItems: If there is one list, of only unknown items, and no fallback.
            BadSetting: If the model's answers cannot be explained.

        Examples:
            >>> model = fansrec.load("runs/mine")
            >>> first, second = model.continue_lists([["s1", "s2"], ["s9"]], k=3, exclude=["s5"])
            >>> len(first.items), "s5" in first.items
            (3, False)
            >>> [answer] = model.continue_lists([["s1", "s2"]], k=1, explain=True)
            >>> answer.positions[0].explanation.because[0].item in ("s1", "s2")
            True
        """
        given, k = check_lists(lists), check_whole(k, "k")
        rules = self.rules(
            exclude=exclude,
            allow=allow,
            categories=categories,
            max_per_group=max_per_group,
            min_score=min_score,
            keep_seen=keep_seen,
            fill=fill,
            diversity=diversity,
            popularity=popularity,
            freshness=freshness,
        )
        check_fallback(fallback)
        if len(given) == 1 and fallback == NONE:
            refuse_unknown(*self.indices(given[0]), self.vocabulary)
        return self.answers(given, k, rules, fallback, explain)

    def answers(
        self,
        lists: Sequence[Iterable[object]],
        k: int,
        rules: Rules,
        fallback: str = NONE,
        explain: bool = False,
    ) -> list[Answer]:
        """Return the continuation of each list, also of a single one of only unknown items."""
        given = [self.indices(items) for items in lists]
        known = [indices for indices, unknown in given if not is_unknown(indices, unknown)]
        explanations = self.explanations if explain else None  # first: it may refuse
        continuations, did_you_mean = self.engine.continue_lists(known, k, rules), DidYouMean(self.vocabulary)
        reasons: Iterable[Any] = repeat(None)
        if explanations is not None:
            reasons = explanations.fields(known, [k] * len(known), continuations)
        found = iter(zip(continuations, reasons, strict=False))
        return [
            Answer.from_fields(
                self.answer_unknown(unknown, did_you_mean(unknown), k, rules, fallback)
                if is_unknown(indices, unknown)
                else self._format(next(found), unknown, k, rules)
            )
            for indices, unknown in given
        ]

    def _format(self, found: tuple[Continuation, Any], unknown: list[object], k: int, rules: Rules) -> dict[str, Any]:
        continuation, explanations = found
        return format_answer(continuation, unknown, k, rules, self.details, explanations=explanations)

    def answer_unknown(
        self, unknown: list[object], meant: str, k: int, rules: Rules, fallback: str, digits: int | None = None
    ) -> dict[str, Any]:
        """Return the answer to a list of only unknown items, as `format_answer` does for others.

        `meant` is the part of the reason that says which items may be meant.
        """
        if fallback == NONE:
            return {"positions": [], "unknown": unknown, "reason": UNKNOWN + meant, "fallback": None}
        answer = format_answer(
            self._popular(k, rules), unknown, k, replace(rules, min_score=None), self.details, digits
        )
        reasons = [f"{UNKNOWN}; these are its most popular items", answer["reason"]]
        return answer | {"reason": "; ".join(filter(None, reasons)) + meant, "fallback": POPULAR}

    def similar_items(self, items: Iterable[object], k: int = 10) -> list[Answer]:
        """Return for each item the `k` most similar ones, by what the model has learned.

        Similarity is the cosine of two item vectors (FANS, BERT4Rec, SASRec, GRU4Rec, Caser, CAR), the weight from one
        item to the other (linear models, Markov), or the cosine of the training lists of both (V-STAN). Of several
        items, an unknown one gets an empty answer that says so.

        Args:
            items: Item ids or names.
            k: How many items each answer has; fewer, with a reason, if fewer are similar.

        Returns:
            One answer for each item, with similarities as scores.

        Raises:
            UnknownItems: If there is one item, and it is unknown.
            BadSetting: If the model knows no similar items, as popularity does not.

        Examples:
            >>> [answer] = fansrec.load("runs/mine").similar_items(["s1"], k=2)
            >>> len(answer.items)
            2
        """
        return self.similar.answers(check_items(items, "items"), check_whole(k, "k"))

    def item_vectors(self) -> ItemVectors:
        """Return the items of the model and their vectors.

        Returns:
            `items`, M ids, and `vectors`, an array of shape (M, D).

        Raises:
            BadSetting: If the model has no vectors.

        Examples:
            >>> items, vectors = fansrec.load("runs/fans").item_vectors()
            >>> len(items) == len(vectors)
            True
        """
        return self.similar.vectors()

    def rules(self, **rules: Any) -> Rules:
        """Return a caller's rules, the arguments of `continue_lists` by these names, in item indices."""
        return make_rules(self.vocabulary, lambda: self.traits, **rules)

    def indices(self, items: Iterable[object]) -> tuple[NDArray[np.int64], list[object]]:
        """Return the indices of a list's known items, and its unknown items."""
        known, unknown = self.vocabulary.indices(items)
        return known, [*map(plain, unknown)]

    def did_you_mean(self, unknown: Sequence[object]) -> str:
        """Return the end of a message about unknown items: `; did you mean 'Song 1'?`, or an empty text."""
        return DidYouMean(self.vocabulary)(unknown)

    @cached_property
    def explanations(self) -> Explanations:
        """What explains answers; raises BadSetting if the model's answers cannot be explained."""
        if self.engine.backend == "sharded":
            raise BadSetting("a sharded model cannot explain its answers; leave out explain, or load it without shards")
        return Explanations(self.artifact, self.engine, self.details)

    @cached_property
    def similar(self) -> SimilarItems:
        return SimilarItems(self.artifact, self.details)

    @cached_property
    def traits(self) -> ItemTraits:
        return traits_of(self.artifact)

    @cached_property
    def details(self) -> Details:
        return item_details(self.vocabulary)


def load(run: str | Path, device: str = "cpu", backend: str = "auto", generation: str | None = None) -> Continuer:
    """Load a trained model from its folder.

    Args:
        run: The folder that `fans train --out` wrote.
        device: cpu or cuda.
        backend: auto, torch, native or cuda; auto selects the fastest one that can run the model.
        generation: one-pass, autoregressive or recall; by default the model's own generation mode.

    Returns:
        The model, ready to continue lists.

    Raises:
        BadArtifact: If the folder is missing, damaged, or written by a newer version.

    Examples:
        >>> import fansrec
        >>> model = fansrec.load("runs/mine")
        >>> [answer] = model.continue_lists([["s1", "s2"]], k=3)
        >>> len(answer.items)
        3
    """
    return Continuer(read_artifact(Path(run)), device, backend, generation)
