"""Two models with different catalogs on one page."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from fansrec.data.corpus import Corpus, write_corpus
from fansrec.vocabulary import Vocabulary
from serving.page.page_service import page_service
from serving.page.screen import Screen
from serving.service import Running
from training_runs import train
from worlds import walks


@pytest.fixture(scope="module")
def two(runs: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A model of the songs, and one of books in two categories, one of which is called like a category of songs."""
    folder = tmp_path_factory.mktemp("books")
    made = walks()
    count = len(made.vocabulary)
    books = Vocabulary(
        [f"b{n}" for n in range(count)],
        np.array([0, 20, count]),
        names=[f"Book {n}" for n in range(count)],
        category_names=["Birch songs", "Novels"],
    )
    write_corpus(folder / "corpus", Corpus(made.items, made.offsets, made.parts, books, made.summary))
    train(folder / "corpus", folder / "books", "ease", {})
    with page_service([runs[1], f"books={folder / 'books'}"], folder) as running:
        yield running


def test_second_catalog_is_mentioned_and_its_categories_are_apart(
    two: Running, open_page: Callable[..., Screen]
) -> None:
    screen = open_page(two.url, fragment="#i=i0&i=b1")
    page = screen.page
    assert "books has another catalog than ease" in page.inner_text("#catalogs")
    assert screen.titles() == ["Amber Lantern", "Book 1"]  # each from the catalog that has it
    assert "skipped: Book 1." in screen.column().locator(".message").inner_text()
    assert "skipped: Amber Lantern - Artist 0." in screen.column(1).locator(".message").inner_text()
    groups = page.locator("[data-part=categories] > [role=group]")
    labels = [group.get_attribute("aria-label") for group in groups.all()]
    assert labels == ["Only these categories of ease", "Only these categories of books"]

    chips = page.locator(".chip", has_text="Birch songs")
    marks = [chip.locator(".swatch").get_attribute("class") for chip in chips.all()]
    assert len(marks) == 2 and marks[0] != marks[1]
    chips.nth(1).click()
    screen.settle()
    assert screen.categories(1) == {"Birch songs"} and screen.categories() != {"Birch songs"}
    groups.first.locator(".chip", has_text="Copper songs").click()
    screen.settle()
    assert screen.categories() == {"Copper songs"} and screen.categories(1) == {"Birch songs"}
    page.wait_for_function("() => /only=Copper.*only2=Birch/.test(location.hash)")
    screen.reload()
    assert screen.categories() == {"Copper songs"} and screen.categories(1) == {"Birch songs"}

    screen.column().locator("select").select_option("books")  # swaps the two: the categories follow their models
    screen.settle()
    assert screen.categories() == {"Birch songs"} and screen.categories(1) == {"Copper songs"}
    screen.column(1).locator("select").select_option("")
    screen.settle()
    assert not page.is_visible("#catalogs") and screen.categories() == {"Birch songs"}
    assert groups.count() == 1


def test_models_with_the_same_catalog_share_their_categories(screen: Screen) -> None:
    assert not screen.page.is_visible("#catalogs")
    assert screen.page.locator("[data-part=categories] > [role=group]").count() == 1
