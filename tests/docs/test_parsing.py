"""The checks of commands and code in documents find what is wrong."""

import pytest

from docs import parsing
from docs.commands import Block, Command, commands


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("fans trian corpora/mine --out runs/mine", "fans trian does not exist"),
        ("fans data fetsh aotm", "fans data fetsh does not exist"),
        ("fans train corpora/mine --outt runs/mine", "--outt"),
        ("fans train corpora/mine", "Missing option '--out'"),
        ("fans train corpora/mine again --out runs/mine", "again is one argument too many"),
        ("fans train corpora/mine --out runs/mine --set a=1 b=2", None),
        ("fans evaluate runs/mine --corpus c --protocol papers", "--protocol"),
        ("fans tune c --out t --trials none", "--trials"),
        ("fans continue s3://lists", "is a URL"),
        ("_FANS_COMPLETE=source_bash fans > ~/completions/fans", None),
    ],
)
def test_commands_of_fans(text: str, wrong: str | None) -> None:
    check(parsing.fans(words(text)), wrong)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("fans train … --resume", None),
        ("fans train --start", None),
        ("fans train CORPUS --workers N", None),
        ("fans train --restart", "--restart"),
        ("fans evaluate --part test-part", "--part"),
        ("fans COMMAND --help", None),
    ],
)
def test_incomplete_commands_of_fans(text: str, wrong: str | None) -> None:
    check(parsing.fans(words(text), whole=False), wrong)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("python -m fansrec.training CORPUS --out RUN", None),
        ("python -m fansrec.training CORPUS --outt RUN", "--out"),
        ("python -m fansrec.experiments speed latencies --json rows.json", "invalid choice: 'latencies'"),
        ("python -m fansrec.nothing", "fansrec.nothing does not exist"),
        ("python benchmarks/loading.py RUN --times 5", None),
        ("python benchmarks/loading.py RUN --sometimes 5", "has no option --sometimes"),
    ],
)
def test_programs_in_python(text: str, wrong: str | None) -> None:
    check(parsing.python(words(text)), wrong)


def test_targets_and_extras() -> None:
    assert parsing.make(["check-release", "TAG=v1.0.0"]) is None
    assert parsing.make(["tests"]) == "the Makefile has no target tests"
    assert parsing.pip(["install", ".[train,server]"]) == "there is no extra server"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("curl http://127.0.0.1:8080/v1/lists/p81 -X DELETE", None),
        ("curl http://127.0.0.1:8080/v1/list/p81 -X DELETE", "no route DELETE /v1/list/p81"),
        ("""curl http://HOST:8080/v1/continue -d '{"lists": [["a"]], "k": 5}'""", None),
        ("""curl http://HOST:8080/v1/continue -d '{"lists": [["a"]], "n": 5}'""", "refuses the body"),
    ],
)
def test_requests(text: str, wrong: str | None) -> None:
    check(parsing.curl(words(text)), wrong)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("model = fansrec.load('runs/mine')\nmodel.continue_lists([['a']], k=5)", None),
        ("fansrec.lode('runs/mine')", "there is no fansrec.lode"),
        ("fansrec.train('corpora/mine', 'runs/mine', epoch=3)", "unexpected keyword argument 'epoch'"),
        ("client.continue_list([['a']])", "client has no method continue_list"),
        ("client.search('a', n=5)", "unexpected keyword argument 'n'"),
        ("from fansrec.models.registry import Entries", "fansrec.models.registry has no Entries"),
    ],
)
def test_code(text: str, wrong: str | None) -> None:
    check(parsing.code(text), wrong)


def test_commands_are_found_with_continued_lines_open_quotes_and_comments() -> None:
    text = "fans doctor  # checks\n\n# a comment\ncurl URL \\\n  -d '{\n  }'\nA=1 fans demo && make docs | head\n"
    found = [*commands(Block("page.md", 1, "", text))]
    assert [one.parts() for one in found] == [
        [["fans", "doctor"]],
        [["curl", "URL", "-d", "{\n  }"]],
        [["fans", "demo"], ["make", "docs"], ["head"]],
    ]
    shown = Block("page.md", 1, "console", "$ fans continue runs/mine\ns0041  A song\n")
    assert [one.text for one in commands(shown)] == ["fans continue runs/mine"]
    with pytest.raises(ValueError, match="does not end"):
        [*commands(Block("page.md", 1, "", "echo 'open\n"))]


def words(text: str) -> list[str]:
    return Command("here", text).parts()[0][1:]


def check(found: str | None, wrong: str | None) -> None:
    assert found is None if wrong is None else wrong in str(found)
