"""Take the screenshots of the page in docs/images, with the models that `fans demo --out DEMO` trains.

PYTHONPATH=tests python -m serving.page.pictures DEMO
"""

import argparse
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from serving.page.conftest import find_chromium
from serving.page.page_service import page_service
from serving.page.screen import Screen

IMAGES = Path(__file__).parents[3] / "docs" / "images"
# The first half of a list of the sample world that travels from one genre to the next, with a guest.
LIST = ["s1971", "s1976", "s1986", "s1981", "s1992", "s0003", "s1585", "s0011", "s0017"]
BLOCKED = "s0023"
COLORS = 256
CHOOSE = "count => { const k = document.getElementById('k'); k.value = count; k.dispatchEvent(new Event('input')); }"
WIDE = {"viewport": {"width": 1360, "height": 960}}
PICTURES: dict[str, dict[str, Any]] = {
    "page.png": WIDE,
    "page-dark.png": WIDE | {"color_scheme": "dark"},
    "page-phone.png": {"viewport": {"width": 360, "height": 780}, "device_scale_factor": 2, "is_mobile": True},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("demo", type=Path)
    parser.add_argument("--out", type=Path, default=IMAGES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = [str(options.demo / run) for run in ("fans", "ease")]
        with page_service(models, Path(folder), "--workers", 2) as service:
            take(service.url, options.out)


def take(address: str, out: Path) -> None:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        for name, look in PICTURES.items():
            screen = Screen(browser.new_context(reduced_motion="reduce", **look).new_page(), address)
            items = LIST[-3:] if "is_mobile" in look else LIST  # on a phone a long list hides the continuation
            screen.goto("#" + "&".join([*(f"i={item}" for item in items), f"block={BLOCKED}"]))
            for count in (11, 10):  # so that the latencies are not those of the first load
                screen.page.evaluate(CHOOSE, count)
                screen.settle()
            save(screen.page.screenshot(), out / name)
        browser.close()


def save(picture: bytes, path: Path) -> None:
    """Write a picture with a palette, which takes a third of the space."""
    Image.open(BytesIO(picture)).convert("RGB").quantize(
        COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    ).save(path, optimize=True)


if __name__ == "__main__":
    main()
