"""The known public sets: their sources, checksums and published statistics."""

from dataclasses import dataclass

from fansrec.errors import BadSetting

WSDM_2020 = "https://raw.githubusercontent.com/heyunh2015/ListContinuation_WSDM2020/master/data"
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
    name: str, where: str, statistics: Statistics, min_item_count: int, lists: str, items: str | None = None
) -> PublicSet:
    """Return a set made from files of another form; `lists` and `items` are the checksums of its files."""
    files = (PublicFile("lists.tsv.gz", None, lists),)
    names = PublicFile("items.tsv.gz", None, items) if items else None
    return PublicSet(name, files, where, statistics, "fansrec", names, min_item_count)


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
            PublicFile("listItem_spotify.txt", f"{CIKM_2019}/spotify/listItem_spotify.txt"),
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
        "5554125f09d33eb16f2c859319076b978c6956bb3bd5aa69f9bd8507b775255c",
        "0c764c7512b6baf67fc3e1aa7417c25be52cb1fb3f5d4d4309a1e09bb1858053",
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
        "bd3e5a4b77bc5aea07551dde9bd2db81ef55259b20747e6e992210b20c7b7662",
    ),
    _derived(
        "recipes",
        "recipes as lists of ingredients (What's Cooking), derived from github.com/swainshashwat/whats-cooking "
        "(research use)",
        Statistics(35_557, 3_197, 403_999, 11.36, 6, 200, 0.355),
        5,
        "445fdb7e425ad16aac0347735fae06989ab4624ade94340cd069cd6990943a39",
        "c31d1e44813049db220df9e5668d15c4c835d899dd66621e5604ccd9ac327c5c",
    ),
)

PUBLIC = {set_.name: set_ for set_ in _SETS}


def public_set(name: str) -> PublicSet:
    if name not in PUBLIC:
        raise BadSetting(f"there is no public set {name!r}; choose one of {', '.join(PUBLIC)}")
    return PUBLIC[name]
