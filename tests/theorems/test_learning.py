"""The theorem of the page on training. The docstring of a class begins with its label."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from selfattn_ref import attention_weights, dot_similarity

NUMBERS = st.floats(-100, 100)


class TestTwins:
    """thm-twins: equal weights cannot tell twins apart."""

    @given(
        rows=hnp.arrays(np.float64, (6, 3), elements=NUMBERS),
        moved=hnp.arrays(np.float64, 3, elements=NUMBERS),
        matrix=hnp.arrays(np.float64, (3, 2), elements=st.floats(-10, 10)),
        scores=hnp.arrays(np.float64, 6, elements=st.floats(-30, 30)),
        inside=st.sets(st.integers(0, 5), min_size=2),
        data=st.data(),
    )
    def test_the_outputs_of_twins_are_equal(self, rows, moved, matrix, scores, inside, data):
        places = sorted(inside)
        twin = rows.copy()
        twin[places] = rows[data.draw(st.permutations(places))]
        twin[places[0]] += moved  # any rows with the same sum
        twin[places[1]] -= moved
        scores[places] = scores[places[0]]
        weights = attention_weights(scores[np.newaxis])
        difference = weights @ rows @ matrix - weights @ twin @ matrix
        assert np.abs(difference).max() < 1e-9

    @pytest.mark.parametrize(("asking", "most"), [(3, 0.5), (0, 1.0)])
    def test_no_rule_is_right_on_more_than_half_if_the_word_has_the_same_row(self, asking, most):
        # Three pairs of twins that differ at the places 0 and 1. A word that stands there knows
        # which twin it is in from its own row; the output of attention does not tell it.
        seen = []
        for rows in np.random.default_rng(0).integers(-9, 10, (3, 4, 2)).astype(float):
            twin = rows[[1, 0, 2, 3]]
            weights = attention_weights(np.array([[1.0, 1.0, 2.0, 0.5]]))
            output = weights[0] @ rows
            np.testing.assert_allclose(weights[0] @ twin, output, rtol=0, atol=1e-12)
            seen += [(*output, *x[asking]) for x in (rows, twin)]
        senses, different = np.array([1, -1] * 3), sorted(set(seen))
        heard = np.array([different.index(x) for x in seen])
        rules = itertools.product((1, -1), repeat=len(different))  # every rule is tried
        assert max((np.array(rule)[heard] == senses).mean() for rule in rules) == most

    def test_one_hot_words_with_their_neighbor_listen_to_the_clues_alike(self):
        # Words 0 to 5: bank, with, no, stop and two clues; then the same for the word before.
        axes = np.vstack([np.eye(6), np.zeros((1, 6))])  # the last: no word before

        def sentence(one, other):
            words = np.array([0, 1, one, 2, other, 3])
            return np.hstack([axes[words], axes[np.r_[6, words[:-1]]]])

        rows, twin = sentence(4, 5), sentence(5, 4)
        assert not np.array_equal(rows, twin)
        for scale in (0.0, 1.0, 12**-0.5):  # the average, dot products, with the root
            heard, by_twin = (
                attention_weights(scale * dot_similarity(x[:1], x)) @ x for x in (rows, twin)
            )
            np.testing.assert_allclose(heard, by_twin, rtol=0, atol=1e-15)

    def test_unequal_weights_tell_them_apart(self):
        rows = np.array([[1.0, 0.0], [0.0, 1.0]])
        weights = attention_weights(np.array([[0.0, 1.0]]))
        assert np.abs(weights @ rows - weights @ rows[::-1]).min() > 0.4
