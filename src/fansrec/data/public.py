"""The known public sets: their sources, checksums and published statistics."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fansrec.errors import BadInput, BadSetting
from fansrec.files import sha256

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

    The statistics are those after the paper's preparation, which keeps lists of min_length to max_length items.
    """

    name: str
    lists: tuple[PublicFile, ...]
    where: str
    statistics: Statistics
    counted_by: str
    items: PublicFile | None = None

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


def _wsdm(name: str, file: str, where: str, statistics: Statistics, sha256: str | None = None) -> PublicSet:
    lists = PublicFile(f"{file}.txt.zip", f"{WSDM_2020}/{file}.txt.zip", sha256)
    return PublicSet(name, (lists,), where, statistics, counted_by="the paper")


_SETS = (
    _wsdm(
        "zhihu",
        "Zhihu",
        "answers collected on a question-and-answer site (He et al., WSDM 2020)",
        Statistics(18_704, 36_005, 927_781, 49.59, 10, 200, 0.138),
    ),
    _wsdm(
        "spotify",
        "Spotify",
        "playlists of Spotify (He et al., WSDM 2020)",
        Statistics(72_152, 104_695, 6_809_820, 94.38, 20, 300, 0.089),
    ),
    _wsdm(
        "aotm",
        "AotM",
        "mixtapes of Art of the Mix (McFee and Lanckriet, ISMIR 2012; this form: He et al., WSDM 2020)",
        Statistics(12_940, 6_264, 162_106, 12.53, 10, 60, 0.200),
        "5e8dbe6f232cf17fdaaf5ab5fb29a5957be6ff88e7e746d3c6f5e10320ac5ed0",
    ),
    _wsdm(
        "goodreads",
        "Goodreads",
        "book lists of Goodreads (He et al., WSDM 2020)",
        Statistics(15_426, 47_877, 1_589_480, 103.04, 20, 300, 0.215),
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
    PublicSet(
        name="grateful-dead",
        lists=(PublicFile("lists.tsv.gz", None, "5554125f09d33eb16f2c859319076b978c6956bb3bd5aa69f9bd8507b775255c"),),
        where="concert set lists, derived from data/gdshowsdb/*.yaml of github.com/jefmsmit/gdshowsdb (MIT license)",
        statistics=Statistics(1_880, 231, 38_282, 20.36, 10, 60, 8.815),
        counted_by="fansrec",
        items=PublicFile("items.tsv.gz", None, "0c764c7512b6baf67fc3e1aa7417c25be52cb1fb3f5d4d4309a1e09bb1858053"),
    ),
)

PUBLIC = {set_.name: set_ for set_ in _SETS}


def public_set(name: str) -> PublicSet:
    if name not in PUBLIC:
        raise BadSetting(f"there is no public set {name!r}; choose one of {', '.join(PUBLIC)}")
    return PUBLIC[name]


def data_folders() -> list[Path]:
    """Return the folders to search for sets, $FANS_DATA if set and the cache; downloads go to the first of them."""
    own = os.environ.get("FANS_DATA")
    cache = Path.home() / ".cache" / "fansrec"
    return [Path(own).expanduser(), cache] if own else [cache]


def find(name: str, forms: Iterable[PublicFile], folders: Iterable[Path]) -> tuple[Path, PublicFile] | None:
    """Return the first existing file NAME/FILE in the folders; refuse it if its checksum is wrong."""
    candidates = ((folder / name / form.name, form) for folder in folders for form in forms)
    found = next(((path, form) for path, form in candidates if path.is_file()), None)
    if found is not None and found[1].sha256 not in (None, sha256(found[0])):
        raise BadInput(
            f"{found[0]} is not the published file (its sha256 differs); remove it, then run: fans data fetch {name}"
        )
    return found


def locate(name: str) -> Path:
    """Return the lists file of a public set on this machine, with its checksum verified if known."""
    set_ = public_set(name)
    found = find(name, set_.lists, data_folders())
    if found is None:
        raise BadInput(
            f"the public set {name} is not on this machine; get it with: fans data fetch {name}"
            if set_.download
            else manual_download(set_)
        )
    return found[0]


def items_file(name: str) -> Path | None:
    """Return the items file of a public set, or None if it has none."""
    set_ = public_set(name)
    found = find(name, (set_.items,), data_folders()) if set_.items else None
    return found[0] if found else None


def manual_download(set_: PublicSet) -> str:
    files = " and ".join(file.name for file in (*set_.lists, *filter(None, [set_.items])))
    return (
        f"{set_.name} cannot be fetched as one file ({set_.where}); put {files} into $FANS_DATA/{set_.name}/ to use it"
    )
