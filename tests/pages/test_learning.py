"""What the page on training prints does not hang on the last place of a product."""

from typing import Any

import numpy as np
import pytest

from tests.pages.sources import BOOK, cells


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """Return the names that the visible cells define, up to the training of the models."""
    names: dict[str, Any] = {}
    text = (BOOK / "beyond" / "learning.md").read_text(encoding="utf-8")
    for cell in cells(text.split("## Before and after")[0]):
        if cell.visible and "F, G, signs" not in cell.code and "best(" not in cell.code:
            exec(cell.code, names)
    return names


def digits(page: dict[str, Any], weights: list[np.ndarray], losses: list[float]) -> list[Any]:
    """Return what is printed of a model: losses, answers, and its numbers to four places."""
    right = [page["right"](weights, *page[name]).tolist() for name in ("data", "held_out")]
    return [np.round(losses, 4).tolist(), right, [w.round(4).tolist() for w in weights]]


class TestTraining:
    def test_every_digit_survives_another_order_of_summation_and_rounding(
        self, page: dict[str, Any]
    ) -> None:
        expected = digits(page, *page["train"](1, page["data"]))
        rng = np.random.default_rng(0)
        order = rng.permutation(len(page["old"]))
        over = page["over"]

        def perturbed(rows: np.ndarray, slopes: np.ndarray) -> np.ndarray:
            product = over(rows, slopes)
            return product * (1 + 1e-15 * rng.uniform(-1, 1, product.shape))

        page["over"] = perturbed
        try:
            shuffled = tuple(array[order] for array in page["data"])
            assert digits(page, *page["train"](1, shuffled)) == expected
        finally:
            page["over"] = over

    def test_another_start_is_noticed(self, page: dict[str, Any]) -> None:
        few = [digits(page, *page["train"](seed, page["data"], steps=2)) for seed in (1, 2)]
        assert few[0] != few[1]
