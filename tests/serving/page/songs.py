"""Songs with names, artists and categories; some contain markup that must never be parsed."""

from fansrec.vocabulary import Vocabulary
from worlds import ITEMS_PER_CATEGORY

COLORS = ("Amber", "Birch", "Copper", "Dune")
THINGS = ("Lantern", "Ferry", "Garden", "Harbour", "Window", "Orchard", "Meadow", "River", "Candle", "Mirror")
THINGS += ("Ladder", "Bridge", "Valley", "Market", "Tower")
# Names that must always be shown as text.
MARKUP = {
    45: "<img src=x onerror=alert(1)>",
    46: "</script><script>alert(2)</script>",
    47: '" onmouseover="alert(3)" x="',
    48: "' onclick='alert(4)",
    49: "<svg onload=alert(5)> &amp; &lt;b&gt;",
}
CATEGORIES = ["Amber songs", "Birch songs", "Copper songs", "<b onclick=alert(6)>Dune</b>"]


def named_vocabulary(bare: Vocabulary) -> Vocabulary:
    artists = [f"Artist {n % 6}" if n not in MARKUP else "<script>alert(7)</script>" for n in range(len(bare))]
    titles = [
        MARKUP.get(n, f"{COLORS[n // ITEMS_PER_CATEGORY]} {THINGS[n % ITEMS_PER_CATEGORY]}") for n in range(len(bare))
    ]
    names = [f"{title} - {artist}" for title, artist in zip(titles, artists, strict=True)]
    dates = [f"{1960 + n}-01-01" for n in range(len(bare))]
    return Vocabulary(
        bare.ids, bare.starts, category_names=CATEGORIES, names=names, groups=artists, group_name="singer", dates=dates
    )
