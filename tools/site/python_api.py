"""The page of the Python API, from the docstrings of the public names."""

import fansrec

INTRODUCTION = """# Python API

Every public name of `fansrec`. [Continue lists in Python](python.md) explains the answers and the errors.
"""
# Types that public functions return, and the classes of their fields.
ANSWERS = [
    "fansrec.api.continuer.Continuer",
    "fansrec.api.answers.Answer",
    "fansrec.api.answers.Position",
    "fansrec.api.answers.Explanation",
    "fansrec.api.answers.Reason",
    "fansrec.api.answers.SimilarList",
    "fansrec.api.answers.FoundItem",
    "fansrec.updating.report.Report",
]


def page() -> str:
    """Return the page as Markdown; mkdocstrings replaces each line that begins with `:::`."""
    functions = [name for name in fansrec.__all__ if name[0].islower()]
    classes = [name for name in fansrec.__all__ if name[0].isupper()]
    public = [f"fansrec.{name}" for name in functions + classes]
    return INTRODUCTION + "".join(f"\n::: {path}\n" for path in public + ANSWERS)
