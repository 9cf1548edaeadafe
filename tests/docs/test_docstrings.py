"""Docstrings of the public names: they name every parameter, and their examples run."""

import doctest
import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fansrec
from fansrec.api.answers import Answer
from fansrec.api.continuer import Continuer
from fansrec.serving.http.keys import new_key
from serving.service import Running
from worlds import MINUTE

ADDRESS = "http://127.0.0.1:8080"  # of the service in examples
METHODS = (
    [Continuer.continue_lists, Continuer.similar_items, Continuer.item_vectors]
    + [method for name, method in vars(fansrec.Client).items() if inspect.isfunction(method) and name[0] != "_"]
)  # fmt: skip
FUNCTIONS = [getattr(fansrec, name) for name in fansrec.__all__ if inspect.isfunction(getattr(fansrec, name))]
CLASSES = [fansrec.Client, fansrec.AsyncClient, fansrec.FansError, Answer]
DESCRIBED = [one for one in FUNCTIONS + METHODS if one is not fansrec.Client.close]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Write the files of the examples: 60 lists of 10 of 20 songs, their corpus and a model."""
    folder, started = tmp_path_factory.mktemp("examples"), Path.cwd()
    os.chdir(folder)
    rows = [f"l{number},s{(number + step) % 20},{step}" for number in range(60) for step in range(10)]
    Path("playlists.csv").write_text("\n".join(["list,item,position", *rows]), encoding="utf-8")
    songs = [f"s{number},Song {number}" for number in range(20)]
    Path("songs.csv").write_text("\n".join(["item,name", *songs]), encoding="utf-8")
    fansrec.prepare("playlists.csv", "corpora/mine", items="songs.csv")
    fansrec.train("corpora/mine", "runs/mine", "vstan", recipe="paper")
    fansrec.train("corpora/mine", "runs/fans", values=MINUTE | {"epochs": 1, "steps": 1}, recipe="paper")
    yield folder
    os.chdir(started)


@pytest.fixture(scope="module")
def service(world: Path) -> Iterator[Running]:
    """Serve the model with a key that may do everything, which `service.key` has."""
    key = new_key(world / "keys", "examples", "admin")
    options = ["--workers", "1", "--writes", world / "writes", "--keys", world / "keys"]
    with Running(f"mine={world / 'runs/mine'}", *options) as running:
        running.key = key  # type: ignore[attr-defined]
        yield running


def run_examples(documented: Any, address: str = ADDRESS, **names: Any) -> None:
    """Run the examples of a docstring, with these names and the address of a running service."""
    finder = doctest.DocTestFinder(recurse=False)
    [test] = finder.find(documented, documented.__qualname__, globs={"fansrec": fansrec} | names)
    assert test.examples
    for example in test.examples:
        example.source = example.source.replace(ADDRESS, address)
    output: list[str] = []
    failed = doctest.DocTestRunner().run(test, out=output.append).failed
    assert not failed, "".join(output)


@pytest.mark.parametrize(
    "documented", [*FUNCTIONS, *METHODS[:3], fansrec.FansError, Answer], ids=lambda one: one.__qualname__
)
def test_examples_of_functions_run(documented: Any, world: Path) -> None:
    run_examples(documented)


def test_examples_of_clients_run(service: Running) -> None:
    key = service.key  # type: ignore[attr-defined]
    run_examples(fansrec.Client, f'{service.url}", key="{key}')
    run_examples(fansrec.AsyncClient, f'{service.url}", key="{key}')
    with fansrec.Client(service.url, key=key) as client:
        for method in METHODS[3:]:
            if method is not fansrec.Client.close:
                run_examples(method, client=client)


@pytest.mark.parametrize("documented", DESCRIBED, ids=lambda one: one.__qualname__)
def test_docstring_describes_every_parameter_and_the_result(documented: Any) -> None:
    text = inspect.getdoc(documented) or ""
    parameters = [name for name in inspect.signature(documented).parameters if name != "self"]
    assert not [name for name in parameters if not re.search(rf"^    {name}: ", text, re.MULTILINE)]
    assert "Returns:\n" in text and "Examples:\n" in text


def test_asynchronous_client_has_the_methods_of_the_other() -> None:
    methods = {name for name in vars(fansrec.Client) if name[0] != "_"}
    assert {name for name in vars(fansrec.AsyncClient) if name[0] != "_"} == methods
    for name in methods - {"close"}:
        assert inspect.signature(getattr(fansrec.Client, name)) == inspect.signature(getattr(fansrec.AsyncClient, name))
