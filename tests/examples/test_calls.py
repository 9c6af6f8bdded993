"""The calls of the worked examples: what they name, and that the library passes them."""

import inspect

import numpy as np
import pytest

import selfattn_ref
from selfattn_ref.worked_examples import ids, load
from tests.examples.test_data import DOCUMENTS

CALLS = [(call, number) for i in ids() for number, call in enumerate(load(i).calls)]
EVERY_CALL = pytest.mark.parametrize(
    "call", [call for call, _ in CALLS], ids=[f"{c.example}-{n}-{c.function}" for c, n in CALLS]
)


class TestTheData:
    @pytest.mark.parametrize("name", DOCUMENTS)
    def test_a_name_is_an_input_or_an_expected_value_and_not_both(self, name):
        document = DOCUMENTS[name]
        assert not document["inputs"].keys() & document["expected"].keys()
        for call in document["calls"]:
            because = call.get("because")
            if call["kind"] == "convention":
                assert because.keys() == call["conventions"].keys()
                assert call["result"] in call["conventions"].values()

    @EVERY_CALL
    def test_a_call_names_a_public_function_and_its_parameters(self, call):
        assert call.function in selfattn_ref.__all__
        inspect.signature(getattr(selfattn_ref, call.function)).bind(**call.arguments)

    @EVERY_CALL
    def test_the_library_returns_what_the_example_knows(self, call):
        function = getattr(selfattn_ref, call.function)
        if call.raises:
            with pytest.raises(call.raises):
                function(**call.arguments)
        else:
            result = function(**call.arguments)
            assert np.shape(result) == call.expected.shape
            np.testing.assert_allclose(result, call.expected, rtol=1e-13, atol=1e-13)
