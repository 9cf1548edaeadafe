"""The registry of public sets, and finding their files."""

from dataclasses import replace
from pathlib import Path

import pytest

from fansrec.data import public
from fansrec.data.locating import items_file, locate
from fansrec.data.public import PUBLIC
from fansrec.errors import BadInput, BadSetting
from fansrec.files import sha256


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty $FANS_DATA, and a home without a cache."""
    monkeypatch.setenv("FANS_DATA", str(tmp_path / "own"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    return tmp_path / "own"


def put(folder: Path, name: str, file: str, content: bytes = b"anything") -> Path:
    path = folder / name / file
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("set_", PUBLIC.values(), ids=list(PUBLIC))
def test_published_statistics_are_consistent(set_: public.PublicSet) -> None:
    """Compare within the paper's rounding: it prints 0.089% for Spotify, whose counts give 0.090%."""
    statistics = set_.statistics
    assert statistics.average == pytest.approx(statistics.interactions / statistics.lists, abs=0.02)
    assert statistics.density == pytest.approx(
        100 * statistics.interactions / (statistics.lists * statistics.items), abs=0.0012
    )
    assert set_.min_length < statistics.average < set_.max_length


def test_filters_of_the_larger_sets() -> None:
    filters = {name: (set_.min_item_count, set_.min_length, set_.max_length) for name, set_ in PUBLIC.items()}
    assert filters["aotm-large"] == (5, 5, 60)
    assert (filters["nowplaying"], filters["recipes"]) == ((5, 5, 200), (5, 6, 200))
    assert filters["aotm"] == (10, 10, 60)


def test_the_lengths_are_those_the_paper_filters_by() -> None:
    bounds = {name: (set_.min_length, set_.max_length) for name, set_ in PUBLIC.items()}
    assert bounds["aotm"] == (10, 60) and bounds["zhihu"] == (10, 200)
    assert bounds["spotify"] == bounds["goodreads"] == bounds["spotify-attlist"] == (20, 300)


def test_a_set_in_the_users_folder_is_found_before_one_in_the_cache(folder: Path, tmp_path: Path) -> None:
    put(tmp_path / "home" / ".cache" / "fansrec", "zhihu", "Zhihu.txt.zip")
    own = put(folder, "zhihu", "Zhihu.txt.zip")
    assert locate("zhihu") == own


def test_a_set_in_the_cache_is_found(folder: Path, tmp_path: Path) -> None:
    cached = put(tmp_path / "home" / ".cache" / "fansrec", "zhihu", "Zhihu.txt.zip")
    assert locate("zhihu") == cached


def test_set_in_another_format_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_ = PUBLIC["spotify-attlist"]
    forms = tuple(replace(form, sha256=None) for form in set_.lists)
    monkeypatch.setitem(PUBLIC, "spotify-attlist", replace(set_, lists=forms))
    plain = put(folder, "spotify-attlist", "listItem_spotify.txt")
    assert locate("spotify-attlist") == plain


def test_set_made_from_the_files_of_another_set_is_found_in_its_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(folder, "aotm", "AotM.txt.zip")
    known = public.PublicFile(path.name, "https://example.org", sha256(path))
    monkeypatch.setitem(PUBLIC, "aotm-large", replace(PUBLIC["aotm-large"], lists=(known,)))
    assert locate("aotm-large") == path


def test_missing_set_is_refused_with_the_fetch_command(folder: Path) -> None:
    with pytest.raises(BadInput, match="fans data fetch aotm"):
        locate("aotm")


def test_set_without_a_download_is_refused_with_its_source(folder: Path) -> None:
    with pytest.raises(BadInput, match="GCE-GNN.*put lists.tsv.gz into"):
        locate("nowplaying")


def test_a_file_that_differs_from_the_published_one_is_refused_and_left_alone(folder: Path) -> None:
    path = put(folder, "aotm", "AotM.txt.zip")
    with pytest.raises(BadInput, match="sha256 differs"):
        locate("aotm")
    assert path.exists()


def test_an_unknown_name_is_refused_with_the_known_ones(folder: Path) -> None:
    with pytest.raises(BadSetting, match="'yelp'.*aotm"):
        locate("yelp")


def test_items_file_of_a_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(folder, "grateful-dead", "items.tsv.gz")
    known = replace(PUBLIC["grateful-dead"], items=public.PublicFile(path.name, None, sha256(path)))
    monkeypatch.setitem(PUBLIC, "grateful-dead", known)
    assert items_file("grateful-dead") == path
    assert items_file("aotm") is None
