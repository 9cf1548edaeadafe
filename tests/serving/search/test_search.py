import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fansrec.api.answers import FoundItem
from fansrec.errors import BadArtifact
from fansrec.files import write_bytes
from fansrec.serving.search import index as search_index
from fansrec.serving.search import indexes as search_indexes
from fansrec.serving.search import item_index, query
from fansrec.serving.search.index import build_index, index_path
from fansrec.serving.search.indexes import Indexes
from fansrec.serving.search.item_index import ItemIndex
from fansrec.serving.search.key import key_of
from fansrec.serving.search.query import Search
from fansrec.serving.search.spelling import Terms, letter_set
from fansrec.serving.search.text import split_pieces, split_words
from fansrec.vocabulary import Vocabulary
from serving.service import DEADLINE_S

SONGS: list[tuple[str | None, str | None]] = [
    ("Yesterday", "The Beatles"),
    ("Help!", "The Beatles"),
    ("Beast of Burden", "The Rolling Stones"),
    ("Karma Police", "Radiohead"),
    ("Creep", "Radiohead"),
    ("Jóga", "Björk"),
    ("Losing My Religion", "R.E.M."),
    ("Don't Stop", "Fleetwood Mac"),
    ("Money", "Pink Floyd"),
    ("Back in Black", "AC/DC"),
    ("東京は夜の七時", None),
    ("ลมหายใจ", None),
    ("비틀즈 노래", None),
    ("हिन्दी गीत", None),
    ("שלום עולם", None),
    ("Dancing 🎉 Queen", "ABBA"),
    ("!!!", None),
    (None, None),
    ("Queen of Hearts", "Juice Newton"),
    ("Killer Queen", "Queen"),
    ("Queen", "Perfume Genius"),
]


def vocabulary_of(songs: list[tuple[str | None, str | None]], **more: object) -> Vocabulary:
    ids = [f"Song-{n}" for n in range(len(songs))]
    names, groups = ([song[column] for song in songs] for column in range(2))
    return Vocabulary(ids, np.array([0, 3, len(songs)]), names, groups, ["first", "rest"], **more)  # type: ignore[arg-type]


def write(folder: Path, vocabulary: Vocabulary) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in vocabulary.files().items():
        write_bytes(folder / name, content)
    return folder


@pytest.fixture(scope="module", autouse=True)
def patient() -> Iterator[None]:
    """Give searches enough time, also on a busy machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(item_index, "MAX_SECONDS", DEADLINE_S)
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("run"), vocabulary_of(SONGS))


@pytest.fixture(scope="module")
def index(run: Path) -> Iterator[ItemIndex]:
    index = ItemIndex(build_index(run, run / "indexes"))
    yield index
    index.close()


def names(found: list[FoundItem]) -> list[str | None]:
    return [item.name for item in found]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("yes", "Yesterday"),
        ("YESTER", "Yesterday"),
        ("poli", "Karma Police"),  # any word
        ("bea", "Help!"),  # the group's
        ("beatles yest", "Yesterday"),  # of both, in any order
        ("joga", "Jóga"),
        ("bjork", "Jóga"),
        ("BJÖRK", "Jóga"),
        ("rem", "Losing My Religion"),
        ("dont", "Don't Stop"),
        ("don't st", "Don't Stop"),
        ("京は夜", "東京は夜の七時"),
        ("หายใจ", "ลมหายใจ"),
        ("틀즈", "비틀즈 노래"),
        ("हिन्", "हिन्दी गीत"),
        ("שלום", "שלום עולם"),
        ("🎉", "Dancing 🎉 Queen"),
        ("!!!", "!!!"),
        ("song-7", "Don't Stop"),
        ("beetels", "Yesterday"),
        ("radiohaed", "Creep"),
        ("raidoh", "Creep"),  # while typing
        ("karma polcie", "Karma Police"),
        ("radiohaed cre", "Creep"),
        ("pinkfloyd", "Money"),
        ("radio head", "Creep"),
        ("acdc", "Back in Black"),
        ("bjrok", "Jóga"),
    ],
)
def test_typed_text_finds_the_intended_item(index: ItemIndex, typed: str, meant: str) -> None:
    assert meant in names(index.search(typed, 3))


def test_exact_name_comes_before_names_and_groups_with_that_prefix(index: ItemIndex) -> None:
    assert names(index.search("queen")) == ["Queen", "Killer Queen", "Queen of Hearts", "Dancing 🎉 Queen"]


def test_articles_are_ignored(index: ItemIndex) -> None:
    assert names(index.search("beatles", 2)) == names(index.search("the beatles", 2)) == ["Help!", "Yesterday"]


def test_item_without_name_is_found_by_id(index: ItemIndex) -> None:
    assert index.search("SONG 17")[0] == FoundItem("Song-17", None, None, "rest")


def test_exact_id_comes_before_longer_ids(index: ItemIndex) -> None:
    assert [item.item for item in index.search("song-1", 3)] == ["Song-1", "Song-17", "Song-10"]


def test_correctly_typed_words_are_not_corrected(index: ItemIndex) -> None:
    assert names(index.search("killer queen")) == ["Killer Queen"]


def test_limit_bounds_the_number_of_results(index: ItemIndex) -> None:
    assert [len(index.search("b", limit)) for limit in (0, 1, 2, 3)] == [0, 1, 2, 3]


def test_only_items_of_a_category_are_found(index: ItemIndex) -> None:
    assert [song.name for song in index.search("beatles", category="first")] == ["Help!", "Yesterday"]
    assert index.search("beatles", category="rest") == index.search("beatles", category="no such one") == []
    assert index.search("beatles", category="\ud800") == []
    assert next(song.name for song in index.search("quen", category="rest")) == "Queen"  # misspelled
    assert [song.item for song in index.search("song-1", category="first")] == ["Song-1"]


@pytest.mark.parametrize("nothing", ["", " ", "\0", "*", '"', "-", "()", "\ud800", "🦆", "qqqqqq", "NEAR(qq, 2)"])
def test_unknown_text_finds_nothing(index: ItemIndex, nothing: str) -> None:
    assert index.search(nothing) == []


SYNTAX = st.sampled_from(
    ['"', "'", "*", "^", "+", "-", ":", "(", ")", "{", "}", "NEAR", " AND ", " OR ", " NOT ", "name", "\0"]
)


@given(typed=st.lists(SYNTAX | st.text(max_size=6) | st.sampled_from(["queen", "beatles", "東京", "🎉"])).map("".join))
@settings(deadline=None)
def test_query_syntax_is_treated_as_words(index: ItemIndex, typed: str) -> None:
    assert len(index.search(typed, 5)) <= 5


@given(text=st.text())
def test_words_contain_no_query_syntax_and_no_spaces(text: str) -> None:
    assert all(char.isalnum() or ord(char) > 127 for word in split_words(text) for char in word)
    assert split_words(text) == [word for piece in split_pieces(text) for word in piece]


@pytest.mark.parametrize("typed", ["beatles " * 1250, "x" * 10_000, "東" * 10_000, "a b c d e " * 1000, '"' * 10_000])
def test_long_text_is_truncated(index: ItemIndex, typed: str) -> None:
    assert index.search(typed + " queen") == index.search(typed[: item_index.MAX_TEXT])


def test_search_ends_at_its_time_limit(index: ItemIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_index, "MAX_SECONDS", -1.0)
    assert index.search("beetels") == [] and not index.damaged
    monkeypatch.undo()
    assert index.search("beetels")


def test_running_query_is_interrupted_at_the_time_limit(index: ItemIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "STEPS_PER_CHECK", 1)
    with index._connection() as connection:
        late = Search(connection, "queen", 10, time.thread_time() + 3600)
        monkeypatch.setattr(query.time, "thread_time", iter([0.0, *[1e12] * 1000]).__next__)
        late.run(pytest.fail)
        assert late.ranked() == []


def test_temporary_error_does_not_mark_the_index_as_damaged(index: ItemIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more_files(path: Path) -> sqlite3.Connection:
        return sqlite3.connect(path / "no folder")

    monkeypatch.setattr(item_index, "_open", no_more_files)
    monkeypatch.setattr(index, "_idle", [])
    with pytest.raises(BadArtifact, match="try again"):
        index.search("queen")
    assert not index.damaged


def test_items_by_id_keep_the_order_and_skip_unknown_ids(index: ItemIndex) -> None:
    found = index.of_ids(["Song-4", "nobody", "song-0", "Song-0", "\ud800", 7])
    assert found == [
        FoundItem("Song-4", "Creep", "Radiohead", "rest"),
        FoundItem("Song-0", "Yesterday", "The Beatles", "first"),
    ]


def test_integer_ids_stay_integers(tmp_path: Path) -> None:
    vocabulary = Vocabulary(["30", "4", "31"], np.array([0, 3]), category_names=["all"], integer_ids=True)
    index = ItemIndex(build_index(write(tmp_path, vocabulary), tmp_path))
    assert index.search("3") == [FoundItem(30, None, None, "all"), FoundItem(31, None, None, "all")]
    assert [found.item for found in index.of_ids([4, "30"])] == [4, 30]


def test_ids_of_both_types_keep_theirs(tmp_path: Path) -> None:
    kinds = np.array([True, False, False])
    vocabulary = Vocabulary(["300", "31", "3"], np.array([0, 3]), category_names=["all"], integer_items=kinds)
    index = ItemIndex(build_index(write(tmp_path, vocabulary), tmp_path))
    assert {found.item for found in index.search("3")} == {300, "31", "3"}
    assert [found.item for found in index.of_ids([300, 31])] == [300, "31"]


def osa(a: str, b: str) -> int:
    """Return the edit distance of two words, computed with the plain table."""
    table = [[max(i, j) if not i * j else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


def terms_of(counts: dict[str, int]) -> Terms:
    words = sorted(counts)
    letters, frequencies = [letter_set(word) for word in words], [counts[word] for word in words]
    return Terms(words, np.array(letters, dtype=np.uint32), np.array(frequencies, dtype=np.uint32))


@given(
    word=st.text("abcd", min_size=3, max_size=9), others=st.sets(st.text("abcd", min_size=1, max_size=11), min_size=1)
)
@settings(deadline=None)
def test_corrections_are_the_words_within_the_edit_distance(word: str, others: set[str]) -> None:
    edits = 1 if len(word) < 6 else 2
    terms = terms_of(dict.fromkeys(others, 1))
    near = {other for other in others if 1 <= osa(word, other) <= edits}
    assert {other for other, _ in terms.close_to(word, unfinished=False, count=1000)} == near
    prefixes = {
        other
        for other in others
        if other[0] == word[0] and 1 <= min(osa(word, other[:size]) for size in range(len(other) + 1)) <= edits
    }
    complete = {other for other in others if other.startswith(word)}  # right so far: not corrected
    assert {other for other, _ in terms.close_to(word, unfinished=True, count=1000)} >= (near | prefixes) - complete


def test_frequent_word_scores_above_a_rare_closer_one() -> None:
    terms = terms_of({"beetles": 1, "beatles": 200})
    assert [word for word, _ in terms.close_to("beetels", unfinished=True, count=2)] == ["beatles", "beetles"]


def test_threads_search_concurrently(index: ItemIndex) -> None:
    typed = ["bea", "beetels", "queen", "song-1"] * 20
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(index.search, typed)) == [index.search(text) for text in typed]


def test_running_search_finishes_after_close(run: Path, tmp_path: Path) -> None:
    index, started, closed = ItemIndex(build_index(run, tmp_path)), threading.Event(), threading.Event()

    def search_slowly() -> list[str]:
        with index._connection() as connection:
            started.set()
            closed.wait(DEADLINE_S)
            return [name for (name,) in connection.execute("SELECT name FROM categories")]

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(search_slowly)
        started.wait(DEADLINE_S)
        index.close()
        closed.set()
        assert slow.result() == ["first", "rest"] and not index._idle


def test_key_depends_on_the_vocabulary_not_on_the_folder(run: Path, tmp_path: Path) -> None:
    assert key_of(write(tmp_path / "same", vocabulary_of(SONGS))) == key_of(run)
    assert key_of(write(tmp_path / "other", vocabulary_of(SONGS[:-1]))) != key_of(run)


def test_existing_index_is_not_built_again(run: Path, tmp_path: Path) -> None:
    path = build_index(run, tmp_path)
    inode = path.stat().st_ino
    assert build_index(run, tmp_path).stat().st_ino == inode


@pytest.mark.parametrize("damage", ["empty", "cut", "another version", "no database"])
def test_damaged_index_is_refused_and_built_again(run: Path, tmp_path: Path, damage: str) -> None:
    path = build_index(run, tmp_path)
    content = path.read_bytes()
    if damage == "another version":
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA user_version = 99")
        connection.close()
    else:
        path.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "no database": b"x" * 9000}[damage])
    with pytest.raises(BadArtifact, match="built again"):
        ItemIndex(path)
    assert ItemIndex(build_index(run, tmp_path)).search("queen")


def test_builder_imports_neither_torch_nor_pydantic() -> None:
    code = "import sys, fansrec.serving.search.indexes; print({'torch', 'pydantic', 'fastapi'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_concurrent_builders_leave_one_file(run: Path, tmp_path: Path) -> None:
    builders = [subprocess.Popen(search_indexes.command(run, tmp_path), stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [builder.wait(DEADLINE_S) for builder in builders] == [0, 0, 0]
    assert [path.name for path in tmp_path.iterdir()] == [index_path(tmp_path, key_of(run)).name]


def test_old_temporary_files_are_removed(run: Path, tmp_path: Path) -> None:
    old, new, foreign = (tmp_path / name for name in (".items-old", ".items-new", "notes.txt"))
    for path in (old, new, foreign):
        path.write_text("half")
    for path in (old, foreign):
        os.utime(path, (0, 0))
    build_index(run, tmp_path)
    assert not old.exists() and new.exists() and foreign.exists()


def test_least_recently_used_indexes_are_removed(run: Path, tmp_path: Path) -> None:
    for age in range(search_index.MAX_INDEXES + 2):
        path = tmp_path / f"items-1-{age}.sqlite"
        path.touch()
        os.utime(path, (time.time() - age - 1,) * 2)
    build_index(run, tmp_path)
    kept = {path.name for path in tmp_path.glob("*.sqlite")} - {index_path(tmp_path, key_of(run)).name}
    assert kept == {f"items-1-{age}.sqlite" for age in range(search_index.MAX_INDEXES - 1)}


@pytest.fixture
def indexes(tmp_path: Path) -> Iterator[Indexes]:
    indexes = Indexes(tmp_path / "indexes")
    yield indexes
    indexes.close()


def wait_for(indexes: Indexes, key: str) -> ItemIndex:
    end = time.monotonic() + DEADLINE_S
    while (index := indexes.get(key)) is None and time.monotonic() < end:
        time.sleep(0.02)
    assert index is not None, indexes.failure(key)
    return index


def test_missing_index_is_built_in_the_background(indexes: Indexes, run: Path) -> None:
    key = key_of(run)
    assert indexes.get(key) is None
    indexes.update({key: run})
    assert wait_for(indexes, key).search("queen")
    assert indexes.failure(key) is None


def test_existing_index_is_opened_at_once(indexes: Indexes, run: Path) -> None:
    build_index(run, indexes.folder)
    indexes.update({key_of(run): run})
    assert indexes.get(key_of(run)) is not None


def test_index_damaged_while_searched_is_built_again(indexes: Indexes, run: Path) -> None:
    path, key = build_index(run, indexes.folder), key_of(run)
    content = bytearray(path.read_bytes())
    content[3 * 8192 :] = b"\xa5" * (len(content) - 3 * 8192)
    path.write_bytes(content)
    indexes.update({key: run})
    if (index := indexes.get(key)) is not None:
        with pytest.raises(BadArtifact, match="built again"):
            index.search("queen")
    assert wait_for(indexes, key).search("queen")


def test_failing_builder_is_retried_a_limited_number_of_times(
    indexes: Indexes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(search_indexes, "RETRY_SECONDS", 0.0)
    indexes.update({"key": tmp_path / "nowhere"})
    end = time.monotonic() + DEADLINE_S
    while indexes.failure("key") is None and time.monotonic() < end:
        assert indexes.get("key") is None
        time.sleep(0.02)
    assert "nowhere" in (indexes.failure("key") or "")
    assert len(caplog.records) == search_indexes.MAX_ATTEMPTS


def test_killed_builder_is_restarted(indexes: Indexes, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_indexes, "RETRY_SECONDS", 0.0)
    indexes.update({key_of(run): run})
    os.kill(indexes._builders[key_of(run)].process.pid, signal.SIGKILL)  # type: ignore[union-attr]
    assert wait_for(indexes, key_of(run)).search("queen")


def test_close_stops_builders(indexes: Indexes, run: Path) -> None:
    indexes.update({key_of(run): run})
    process = indexes._builders[key_of(run)].process
    indexes.close()
    assert process is not None and process.returncode is not None
