"""The page of the Python API, from the docstrings of the public names."""

import fansrec

INTRODUCTION = """# Python API

Every public name of `fansrec`. [Continue lists in Python](python.md) explains the answers and the errors.
"""
# Types that public functions return, and the types of their fields, with those of their members that users need.
METHODS = ["continue_lists", "similar_items", "item_vectors"]
ANSWERS: dict[str, list[str]] = {
    "fansrec.api.continuer.Continuer": METHODS,
    "fansrec.api.answers.Answer": ["items", "to_json", "to_line"],
    "fansrec.api.answers.Position": ["to_json"],
    "fansrec.api.answers.Explanation": [],
    "fansrec.api.answers.Reason": [],
    "fansrec.api.answers.SimilarList": [],
    "fansrec.api.answers.FoundItem": [],
    "fansrec.client.requests.Answers": [],
    "fansrec.updating.report.Report": [],
    "fansrec.training.plan.Plan": ["variant", "settings"],
}


def page() -> str:
    """Return the page as Markdown; mkdocstrings replaces each line that begins with `:::`."""
    functions = [name for name in fansrec.__all__ if name[0].islower()]
    classes = [name for name in fansrec.__all__ if name[0].isupper()]
    public = "".join(f"\n::: fansrec.{name}\n" for name in functions + classes)
    answers = (f"\n::: {path}\n    options:\n      members: {members}\n" for path, members in ANSWERS.items())
    return INTRODUCTION + public + "".join(answers)
