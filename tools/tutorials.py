"""Execute the notebooks of docs/tutorials, and write their pages with outputs and pictures.

    python tools/tutorials.py [NAME...] [--force]

A notebook is a script in jupytext's percent format, docs/tutorials/NAME.py. It is executed by a Jupyter kernel in a
temporary folder. The results are the page docs/tutorials/NAME.md, its pictures in docs/images/tutorials/, and the
executed notebook, build/tutorials/NAME.ipynb. If only text has changed since, the outputs of that one are used again,
so that a text can be written after its numbers are known; `--force` executes it in any case.
"""

import argparse
import base64
import datetime
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jupytext
import nbclient
import nbformat
from nbformat import NotebookNode

from fansrec.cores import usable_cores

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "docs/tutorials"
PICTURES = ROOT / "docs/images/tutorials"
EXECUTED = ROOT / "build/tutorials"
MOST_LINES = 30  # of an output on a page; half of them from its end
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # colors and cleared lines of terminals


def names() -> list[str]:
    """Return the names of the notebooks."""
    return sorted(path.stem for path in SOURCES.glob("*.py"))


def read(name: str) -> NotebookNode:
    """Return a notebook without outputs."""
    return jupytext.read(SOURCES / f"{name}.py")


def execute(notebook: NotebookNode, folder: Path) -> None:
    """Execute all cells in `folder`; raise CellExecutionError if one fails."""
    place = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=None, startup_timeout=600, resources=place).execute()


def code(notebook: NotebookNode) -> list[str]:
    """Return the source of all code cells."""
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def executed(name: str, force: bool = False) -> NotebookNode:
    """Return a notebook with outputs: those of the last execution if its code was the same."""
    notebook, stored = read(name), EXECUTED / f"{name}.ipynb"
    last = nbformat.read(stored, as_version=4) if stored.is_file() and not force else None
    if last is not None and code(last) == code(notebook):
        outputs = iter([cell.outputs for cell in last.cells if cell.cell_type == "code"])
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = next(outputs)
        notebook.metadata["executed"] = last.metadata["executed"]
    else:
        with tempfile.TemporaryDirectory() as folder:
            execute(notebook, Path(folder))
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        notebook.metadata["executed"] = f"{today} on {usable_cores()} CPU cores"
    stored.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, stored)
    return notebook


def pictures(notebook: NotebookNode) -> list[bytes]:
    """Return all pictures in the outputs, as PNG files."""
    return [base64.b64decode(one["data"]["image/png"]) for one in _outputs(notebook) if _is_picture(one)]


def page(notebook: NotebookNode, name: str) -> str:
    """Return an executed notebook as Markdown; its pictures are NAME-1.png and so on."""
    title, *others = notebook.cells
    heading, _, introduction = title.source.partition("\n")
    about = (
        f"This page is a notebook, executed on {notebook.metadata['executed']} with"
        f" `python tools/tutorials.py {name}`. Its source, [{name}.py]({name}.py), runs as a script,"
        " and Jupyter opens it as a notebook with [jupytext](https://jupytext.readthedocs.io)."
    )
    parts = [heading, about, introduction.strip()]
    shown = 0
    for cell in others:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        if text := _text(cell.outputs):
            parts.append(f"```text\n{text}\n```")
        for _ in filter(_is_picture, cell.outputs):
            shown += 1
            parts.append(f"![{_alternative(cell.source)}](../images/tutorials/{name}-{shown}.png)")
    return "\n\n".join(parts) + "\n"


def _outputs(notebook: NotebookNode) -> Iterator[NotebookNode]:
    for cell in notebook.cells:
        yield from cell.get("outputs", ())


def _is_picture(output: NotebookNode) -> bool:
    return "image/png" in output.get("data", {})


def _alternative(code: str) -> str:
    """Return the alternative text of a picture: the comment at the beginning of the code that draws it."""
    found = re.match(r"(?:# .+\n)+", code)
    if found is None:
        raise ValueError(f"a cell that draws a picture has to begin with a comment that describes it:\n{code}")
    return found[0].replace("# ", "").replace("\n", " ").strip()


def _text(outputs: list[NotebookNode]) -> str:
    """Return what a cell printed as a terminal shows it in the end, without warnings and other text on stderr."""
    text = "".join(output.text for output in outputs if output.get("name") == "stdout")
    lines = [line.rpartition("\r")[2].rstrip() for line in ESCAPES.sub("", text).strip("\n").split("\n")]
    left_out = len(lines) - MOST_LINES
    if left_out > 1:
        lines[MOST_LINES // 2 : -MOST_LINES // 2] = [f"… {left_out} lines …"]
    return "\n".join(lines)


def write(name: str, force: bool) -> None:
    """Execute a notebook if necessary, and write its page and pictures."""
    notebook = executed(name, force)
    for old in PICTURES.glob(f"{name}-*.png"):
        old.unlink()
    PICTURES.mkdir(parents=True, exist_ok=True)
    for number, picture in enumerate(pictures(notebook), start=1):
        (PICTURES / f"{name}-{number}.png").write_bytes(picture)
    (SOURCES / f"{name}.md").write_text(page(notebook, name), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="notebooks; all of them by default")
    parser.add_argument("--force", action="store_true", help="execute notebooks whose code has not changed, too")
    arguments = parser.parse_args()
    for name in arguments.names or names():
        write(name, arguments.force)


if __name__ == "__main__":
    main()
