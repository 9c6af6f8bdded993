"""The derivation of every worked example, by the name that its file gives.

Each takes the inputs of the example and returns every expected value. A module for each part of the
book holds them.
"""

from __future__ import annotations

from derivations.analogies import (
    a_stretch_of_two_axes,
    a_stretch_of_two_vectors,
    cat_walks_by_the_bank,
    lookup_in_a_dictionary,
    scores_in_both_directions,
)
from derivations.beyond import (
    gradient_by_hand,
    grouped_heads,
    rotation_by_position,
    softmax_in_one_pass,
    two_heads,
    words_in_another_order,
)
from derivations.causal import (
    a_query_with_nobody_to_attend_to,
    causal_attention,
    four_wrong_masks,
    one_more_token,
    one_token_at_a_time,
    perplexity_of_four_tokens,
    two_layers_with_and_without_a_mask,
)
from derivations.concepts import (
    attention_with_learned_roles,
    attention_without_mask,
    attention_without_parameters,
    averages_of_two_sentences,
    cosine_attention_in_two_sentences,
    dot_products_of_five_words,
    one_phrase_under_three_matrices,
    one_word_in_two_sentences,
    roles_of_one_word,
    scores_and_variances,
    similarities_of_three_words,
    softmax_at_three_temperatures,
    softmax_by_hand,
)
from derivations.kinds import Derivation
from derivations.scaling import (
    dot_products_of_signs,
    moments_of_dot_products,
    saturated_and_scaled_softmax,
)

DERIVATIONS: dict[str, Derivation] = {
    function.__name__: function
    for function in (
        similarities_of_three_words,
        cosine_attention_in_two_sentences,
        averages_of_two_sentences,
        dot_products_of_five_words,
        softmax_by_hand,
        attention_without_parameters,
        one_word_in_two_sentences,
        roles_of_one_word,
        attention_with_learned_roles,
        a_stretch_of_two_axes,
        a_stretch_of_two_vectors,
        scores_in_both_directions,
        lookup_in_a_dictionary,
        cat_walks_by_the_bank,
        scores_and_variances,
        causal_attention,
        dot_products_of_signs,
        moments_of_dot_products,
        saturated_and_scaled_softmax,
        four_wrong_masks,
        a_query_with_nobody_to_attend_to,
        two_layers_with_and_without_a_mask,
        one_more_token,
        one_token_at_a_time,
        two_heads,
        grouped_heads,
        words_in_another_order,
        rotation_by_position,
        softmax_in_one_pass,
        gradient_by_hand,
        perplexity_of_four_tokens,
        one_phrase_under_three_matrices,
        attention_without_mask,
        softmax_at_three_temperatures,
    )
}
