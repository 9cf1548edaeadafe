"""Names with terminal escapes and line breaks, in every command that prints them."""

import ast
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fansrec.cli import terminal
from fansrec.data.corpus import Corpus, write_corpus
from fansrec.printable import printable
from fansrec.vocabulary import Vocabulary
from training_runs import train
from worlds import walks

Fans = Callable[..., tuple[int, str, str]]
HOSTILE = "\x1b]0;x\x07\x1b[2Ja\nforged\tline\r\x9b31m\x7f\u202eb\u2028\u2069[red]c[/red]"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with hostile ids, names, groups and categories, and a model trained on it."""
    folder = tmp_path_factory.mktemp("hostile")
    made = walks()
    ids = [f"{id}{HOSTILE}" for id in made.vocabulary.ids]
    named = [f"{HOSTILE}{n}" for n in range(len(ids))]
    categories = [f"{name}{HOSTILE}" for name in made.vocabulary.category_names or ()]
    vocabulary = Vocabulary(ids, made.vocabulary.starts, category_names=categories, names=named, groups=named)
    write_corpus(folder / "corpus", Corpus(made.items, made.offsets, made.parts, vocabulary, made.summary))
    train(folder / "corpus", folder / "run", "popularity", {})
    return folder


def safe(text: str) -> bool:
    """Return whether `text` has no control characters except line breaks and tabs."""
    plain = text.replace("\n", "").replace("\t", "")
    return plain == printable(plain)


def test_continue_prints_one_safe_line_for_each_item(fans: Fans, hostile: Path) -> None:
    code, out, err = fans("continue", hostile / "run", "-k", 5)
    assert (code, err) == (0, "") and safe(out)
    assert [line.count("\t") for line in out.splitlines()] == [1] * 5
    assert all(line.split("\t")[0].endswith(printable(HOSTILE)) for line in out.splitlines())


def test_json_has_the_original_names_escaped(fans: Fans, hostile: Path) -> None:
    code, out, _ = fans("continue", hostile / "run", "-k", 5, "--json")
    assert code == 0 and safe(out) and out.count("\n") == 1
    assert all(item.endswith(HOSTILE) for item in json.loads(out)["items"])


def test_error_messages_are_one_safe_line(fans: Fans, hostile: Path) -> None:
    for arguments in (["continue", hostile / "run", HOSTILE], ["continue", f"/{HOSTILE}"], ["train", HOSTILE]):
        code, out, err = fans(*arguments)
        assert (code, out) == (2, "") and safe(err) and err.count("\n") == 1
        assert err.startswith("fans: ")


def test_skipped_items_are_reported_in_one_safe_line(fans: Fans, hostile: Path) -> None:
    known = fans("continue", hostile / "run", "-k", 1, "--json")[1]
    code, _, err = fans("continue", hostile / "run", json.loads(known)["items"][0], HOSTILE)
    assert code == 0 and safe(err) and err.count("\n") == 1


def test_evaluate_and_describe_print_hostile_folder_names_safely(fans: Fans, hostile: Path, tmp_path: Path) -> None:
    name = HOSTILE.replace("/", "")
    run, corpus = tmp_path / f"run{name}", tmp_path / f"corpus{name}"
    run.symlink_to(hostile / "run")
    corpus.symlink_to(hostile / "corpus")
    code, out, err = fans("evaluate", run, "--corpus", corpus)
    assert code == 0 and safe(out) and safe(err)
    assert not [line for line in out.splitlines() if line.startswith("forged")]
    code, out, _ = fans("data", "describe", corpus)
    assert code == 0 and safe(out)


def test_only_the_terminal_module_prints() -> None:
    """A new command cannot forget to escape what it prints."""
    module = Path(terminal.__file__)
    for file in sorted(module.parent.glob("*.py")):
        if file == module:
            continue
        calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
        names = {ast.unparse(call.func) for call in calls}
        assert not names & {"print", "typer.echo", "typer.secho", "Console", "sys.stdout.write"}, file
