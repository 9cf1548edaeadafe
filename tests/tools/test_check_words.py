"""`tools/check_words.py` on small texts."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_words.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_words", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def words(tool: ModuleType, path: str, text: str) -> list[tuple[int, str]]:
    return [(finding.line, finding.word) for finding in tool.check(path, text)]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("The nursery starts the workers.", "nursery"),
        ("Whoever calls it", "Whoever"),
        ("measured anew", "anew"),
        ("At most so many lists", "so many"),
        ("unless told otherwise", "told otherwise"),
        ("Go on with an interrupted training run", "Go on with"),
        ("the folder is no trained model", "is no"),
        ("falls back to torch with a word", "with a word"),
        ("the nearest neighbours", "neighbours"),
        ("Normalised weights", "Normalised"),
    ],
)
def test_replaced_words_are_found_in_documents(tool: ModuleType, line: str, word: str) -> None:
    assert words(tool, "page.md", f"# Title\n\n{line}\n") == [(3, word)]


@pytest.mark.parametrize(
    "line",
    [
        "There is no file, and it is no longer needed.",
        "so many that they do not fit",
        'a desktop with aria-labelledby="title"',
        "the contested claim, a screwdriver",
        "normalize the neighbors",
        "the setting `neighbours`",
    ],
)
def test_similar_words_are_allowed(tool: ModuleType, line: str) -> None:
    assert words(tool, "page.md", line) == []


def test_python_is_checked_in_comments_and_strings(tool: ModuleType) -> None:
    text = 'neighbours = 1  # colour\nprint("behaviour")\ntext = """First line.\n\n    Whoever calls.\n    """\n'
    assert words(tool, "module.py", text) == [(1, "colour"), (2, "behaviour"), (5, "Whoever")]


def test_old_names_are_found_inside_identifiers(tool: ModuleType) -> None:
    text = "class ThreadCrew(FansBest):\n    keeper_socket = open_desk()\n    NURSERY = Desktop()\n"
    expected = [(1, "Crew"), (1, "FansBest"), (2, "desk"), (2, "keeper"), (3, "NURSERY")]
    assert words(tool, "module.py", text) == expected


def test_c_is_checked_in_comments(tool: ModuleType) -> None:
    text = "int neighbours;  // colour\n/* a\n   behaviour */\nclass Crew;\n"
    assert words(tool, "kernel.cpp", text) == [(1, "colour"), (3, "behaviour"), (4, "Crew")]


def test_marked_line_is_skipped(tool: ModuleType) -> None:
    text = '"neighbours"  # words: keep (a setting)\n"colour"\n'
    assert words(tool, "module.py", text) == [(2, "colour")]


def test_tracked_files_include_documents_and_sources_but_not_the_word_list(tool: ModuleType) -> None:
    files = tool.tracked_files()
    assert {"README.md", "Makefile", "src/fansrec/errors.py", "src/fansrec/serving/page/index.html"} <= set(files)
    assert "tools/check_words.py" not in files


def run(path: Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, TOOL, path], capture_output=True, text=True)
    return done.returncode, done.stdout


def test_command_reports_place_word_and_replacement(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Fine.\nThe keeper holds models.\n")
    assert run(page) == (1, f"{page}:2: 'keeper': write model host\n1 words to replace\n")


def test_command_succeeds_on_plain_text(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("The model host holds models.\n")
    assert run(page) == (0, "no words to replace\n")
