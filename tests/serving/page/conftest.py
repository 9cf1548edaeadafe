"""The page in Chromium, with the real service."""

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from fansrec.data.corpus import Corpus, write_corpus
from serving.page.page_service import page_service
from serving.page.screen import Screen
from serving.page.songs import named_vocabulary
from serving.service import DEADLINE_S, Running
from skipping import skip_or_fail
from training_runs import train
from worlds import MINUTE, walks

# The first one has no windows: tests of the page take half of the processor time in it.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
WAIT_MS = 1000 * DEADLINE_S


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return two small models of the same songs as arguments of `fans serve`."""
    folder = tmp_path_factory.mktemp("page")
    made = walks()
    corpus = Corpus(made.items, made.offsets, made.parts, named_vocabulary(made.vocabulary), made.summary)
    write_corpus(folder / "corpus", corpus)
    train(folder / "corpus", folder / "fans", "fans", MINUTE)
    train(folder / "corpus", folder / "ease", "ease", {})
    return [f"fans={folder / 'fans'}", f"ease={folder / 'ease'}"]


@pytest.fixture(scope="session")
def service(runs: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with page_service(runs, tmp_path_factory.mktemp("service")) as running:
        yield running


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="session")
def chromium() -> str:
    found = find_chromium()
    if found is None:
        skip_or_fail(
            "Chromium is not installed: the page is not tested. Install it: apt-get install chromium-headless-shell"
        )
    return found


@pytest.fixture(scope="module")  # a session fixture would keep an event loop running during other tests
def browser(chromium: str) -> Iterator[Browser]:
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=chromium, args=arguments, timeout=WAIT_MS)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Browser, service: Running) -> Iterator[Callable[..., Screen]]:
    """Return a function that opens the page, or a blank tab if `fragment` is None.

    At the end of each test there must be no error, no script from a name and no request to another host.
    """
    contexts: list[BrowserContext] = []
    screens: list[Screen] = []

    def open_(
        address: str = service.url,
        fragment: str | None = "",
        expected: tuple[str, ...] = (),
        ready: bool = True,
        **options: object,
    ) -> Screen:
        defaults = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}  # no animations to wait for
        context = browser.new_context(**(defaults | options))
        context.set_default_timeout(WAIT_MS)
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
        contexts.append(context)
        screens.append(Screen(context.new_page(), address, expected))
        if fragment is not None:
            screens[-1].goto(fragment, ready)
        return screens[-1]

    yield open_
    for context in contexts:
        context.close()
    for screen in screens:
        assert screen.faults() == []


@pytest.fixture
def screen(open_page: Callable[..., Screen]) -> Screen:
    return open_page()
