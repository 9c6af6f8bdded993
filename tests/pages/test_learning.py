"""What the page on training prints does not hang on the last place of a product."""

import numpy as np
import pytest

from book.figures.trained import lesson


@pytest.fixture
def page():
    return lesson()


class TestTraining:
    @pytest.mark.parametrize("seed", [1, 2])  # of those on the page, the most sensitive
    def test_every_digit_survives_another_order_of_summation_and_rounding(
        self, page, seed, monkeypatch
    ):
        rng = np.random.default_rng(0)
        over, train = page["over"], page["train"]

        def perturbed(rows, slopes):
            product = over(rows, slopes)
            return product * (1 + 1e-15 * rng.uniform(-1, 1, product.shape))

        weights, losses = train(seed, page["data"])
        order = rng.permutation(len(page["old"]))
        monkeypatch.setitem(page, "over", perturbed)
        others, other_losses = train(seed, [array[order] for array in page["data"]])
        np.testing.assert_allclose(other_losses, losses, rtol=0, atol=1e-9)
        for one, other in zip(weights, others, strict=True):
            np.testing.assert_allclose(other, one, rtol=0, atol=1e-9)
        for name in ("data", "held_out"):  # and no answer is near to being another
            answers = page["listen"](weights, *page[name][:3])[-1] @ weights[-1]
            assert np.abs(answers).min() > 1e-3
