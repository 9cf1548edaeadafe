"""Which of several models to use: the cheapest one that is not significantly worse than the best one."""

from collections.abc import Iterable, Mapping

from fansrec.evaluation.paired import Ranking

FEWEST = 50  # lists: fewer show no difference, so that the cheapest model would always be recommended
# By the time that fitting and answering take. It is the same each time; measured times of fast models are mostly noise.
CHEAPEST_FIRST = ("popularity", "markov", "item-knn", "rp3beta", "ease", "slist", "vstan")


def costs(models: Mapping[str, str], seconds: Mapping[str, float]) -> dict[str, float]:
    """Return the cost of each system, by name; `models` are their models, `seconds` what training them took.

    Models in closed form cost less than those that are trained by gradient, which are compared by their seconds.
    """
    count = len(CHEAPEST_FIRST)
    places = {model: float(place) for place, model in enumerate(CHEAPEST_FIRST)}
    return {name: places.get(model, count + seconds.get(name, 0.0)) for name, model in models.items()}


def recommend(ranking: Ranking, costs: Mapping[str, float], lists: int) -> str:
    """Return the cheapest system that is not significantly worse than the best; the best if there are few lists."""
    return ranking.cheapest(costs) if lists >= FEWEST else ranking.best


def reasons(ranking: Ranking, chosen: str, metric: str, lists: int, titles: Mapping[str, str]) -> Iterable[str]:
    """Yield the sentences that say which system is recommended, and why."""
    best, means = titles[ranking.best], ranking.means
    if lists < FEWEST:
        yield f"{lists} test lists are too few to tell models apart: {best} has the highest {metric}, perhaps by chance"
        yield f"recommended: {best}"
    elif chosen == ranking.best:
        others = [titles[name] for name in ranking.as_good[1:]]
        equal = f"not significantly better than {', '.join(others)}, which cost more"
        why = equal if others else "significantly better than all others"
        yield f"recommended: {best}, which is {why}: {metric} {means[ranking.best]:.4f}"
    else:
        one = ranking.behind[chosen]
        figures = f"{metric} {means[chosen]:.4f} against {means[ranking.best]:.4f}"
        apart = f"difference {one.mean:.4f} [{one.low:.4f}, {one.high:.4f}]"
        yield f"recommended: {titles[chosen]}, the cheapest model that is not significantly worse than {best}"
        yield f"{figures}, {apart}"
