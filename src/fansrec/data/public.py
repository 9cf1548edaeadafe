"""The known public sets: their sources, checksums and published statistics."""

from dataclasses import dataclass

from fansrec.errors import BadSetting

WSDM_2020 = "https://raw.githubusercontent.com/heyunh2015/ListContinuation_WSDM2020/master/data"
GDSHOWSDB = "https://raw.githubusercontent.com/jefmsmit/gdshowsdb/master/data/gdshowsdb"
WHATS_COOKING = "https://raw.githubusercontent.com/swainshashwat/whats-cooking/master/data/train.json.zip"
CIKM_2019 = "https://raw.githubusercontent.com/heyunh2015/AttList/master/AttList_cikm2019/data"


@dataclass(frozen=True)
class Statistics:
    """The size of a set of lists."""

    lists: int
    items: int
    interactions: int
    average: float  # items per list
    shortest: int
    longest: int
    density: float  # percent of all list-item pairs


@dataclass(frozen=True)
class PublicFile:
    name: str
    url: str | None = None  # None: this file is not available for download
    sha256: str | None = None  # None: the checksum is not known
    unpacked: bool = False  # whether the checksum is that of the decompressed content


@dataclass(frozen=True)
class PublicSet:
    """A set of lists in one or more file formats, the preferred one first, optionally with names of the items.

    The statistics are those after the paper's preparation, which keeps items that occur at least min_item_count times
    and lists of min_length to max_length items.
    """

    name: str
    lists: tuple[PublicFile, ...]
    where: str
    statistics: Statistics
    counted_by: str
    items: PublicFile | None = None
    min_item_count: int = 10
    files_of: str | None = None  # another set that is made from the same files
    sources: tuple[str, ...] = ()  # URLs of files that `conversions` turns into lists and items
    steps: str | None = None  # how to make the files by hand, if they can be neither downloaded nor converted

    @property
    def folder(self) -> str:
        """The name of the folder of its files."""
        return self.files_of or self.name

    @property
    def min_length(self) -> int:
        return self.statistics.shortest

    @property
    def max_length(self) -> int:
        return self.statistics.longest

    @property
    def download(self) -> PublicFile | None:
        """The file that can be downloaded."""
        return next((form for form in self.lists if form.url), None)


def _wsdm(file: str, sha256: str | None = None) -> PublicFile:
    return PublicFile(f"{file}.txt.zip", f"{WSDM_2020}/{file}.txt.zip", sha256)


def _derived(
    name: str,
    where: str,
    statistics: Statistics,
    min_item_count: int,
    lists: str,
    items: str | None = None,
    sources: tuple[str, ...] = (),
    steps: str | None = None,
) -> PublicSet:
    """Return a set made from files of another form; `lists` and `items` are the checksums of its decompressed files."""
    files = (PublicFile("lists.tsv.gz", None, lists, unpacked=True),)
    names = PublicFile("items.tsv.gz", None, items, unpacked=True) if items else None
    return PublicSet(name, files, where, statistics, "fansrec", names, min_item_count, sources=sources, steps=steps)


_AOTM = _wsdm("AotM", "5e8dbe6f232cf17fdaaf5ab5fb29a5957be6ff88e7e746d3c6f5e10320ac5ed0")
_SETS = (
    PublicSet(
        "zhihu",
        (_wsdm("Zhihu"),),
        "answers collected on a question-and-answer site (He et al., WSDM 2020)",
        Statistics(18_704, 36_005, 927_781, 49.59, 10, 200, 0.138),
        counted_by="the paper",
    ),
    PublicSet(
        "spotify",
        (_wsdm("Spotify"),),
        "playlists of Spotify (He et al., WSDM 2020)",
        Statistics(72_152, 104_695, 6_809_820, 94.38, 20, 300, 0.089),
        counted_by="the paper",
    ),
    PublicSet(
        "aotm",
        (_AOTM,),
        "mixtapes of Art of the Mix (McFee and Lanckriet, ISMIR 2012; this form: He et al., WSDM 2020)",
        Statistics(12_940, 6_264, 162_106, 12.53, 10, 60, 0.200),
        counted_by="the paper",
    ),
    PublicSet(
        "goodreads",
        (_wsdm("Goodreads"),),
        "book lists of Goodreads (He et al., WSDM 2020)",
        Statistics(15_426, 47_877, 1_589_480, 103.04, 20, 300, 0.215),
        counted_by="the paper",
    ),
    PublicSet(
        name="spotify-attlist",
        lists=(
            PublicFile(
                "listItem_spotify.txt.gz", None, "baabe0dda06c5668b015efb63ac2835312dbe8a0548a87992cbfedceb3a3292f"
            ),
            PublicFile(
                "listItem_spotify.txt",
                f"{CIKM_2019}/spotify/listItem_spotify.txt",
                "94fbc6737730d2012c8b2d40b56c45f5a487f6d8978fcbf56936f5b8073a4fcf",
            ),
        ),
        where="a smaller collection of Spotify playlists (AttList: He et al., CIKM 2019)",
        statistics=Statistics(3_310, 12_527, 261_708, 79.07, 20, 300, 0.631),
        counted_by="fansrec",
    ),
    _derived(
        "grateful-dead",
        "concert set lists, derived from data/gdshowsdb/*.yaml of github.com/jefmsmit/gdshowsdb (MIT license)",
        Statistics(1_880, 231, 38_282, 20.36, 10, 60, 8.815),
        10,
        "546c6e33bcb9b32537000b1656bffde20e41395a7f946b171659f80327aae0b4",
        "62e369166bc0b5ad1e0dea61526b1f5ca2531ec8d28093cd24a0252546503856",
        sources=tuple(f"{GDSHOWSDB}/{year}.yaml" for year in range(1965, 1996)),
    ),
    PublicSet(
        name="aotm-large",
        lists=(_AOTM,),
        where="the same mixtapes as aotm, with rarer songs and shorter mixtapes",
        statistics=Statistics(80_676, 59_783, 1_010_088, 12.52, 5, 60, 0.021),
        counted_by="fansrec",
        min_item_count=5,
        files_of="aotm",
    ),
    _derived(
        "nowplaying",
        "listening sessions of #nowplaying, derived from github.com/CCIIPLab/GCE-GNN (research use)",
        Statistics(86_299, 37_138, 743_342, 8.61, 5, 200, 0.023),
        5,
        "99f580a823a45537b34d49f2b481ce17d5010612ad40e038eb0ccb6163eea31d",
        steps="docs/how-to/get-public-data.md",
    ),
    _derived(
        "recipes",
        "recipes as lists of ingredients (What's Cooking), derived from github.com/swainshashwat/whats-cooking "
        "(research use)",
        Statistics(35_557, 3_197, 403_999, 11.36, 6, 200, 0.355),
        5,
        "e8a796b7918facdeae0c692dc7ca722286143fc619fff5ac261b03ba5700d17d",
        "5dab68b1691e64d77d5c854ece3d593defc7b507007129afcad62d6a6782fc8a",
        sources=(WHATS_COOKING,),
    ),
)

PUBLIC = {set_.name: set_ for set_ in _SETS}


def public_set(name: str) -> PublicSet:
    if name not in PUBLIC:
        raise BadSetting(f"there is no public set {name!r}; choose one of {', '.join(PUBLIC)}")
    return PUBLIC[name]
