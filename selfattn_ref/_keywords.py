"""Keywords of other libraries: what they are called here, which the message for one says."""

import difflib

_NOT_DROPPED = "nothing: no weight is ever dropped"
_BY_LENGTHS = {"lengths": "lengths=", "mask": "mask=padding_mask(lengths, Tk), True = may attend"}

# Words of PyTorch, JAX, Keras, ONNX, Hugging Face, FlashAttention, xFormers, FlashInfer and other
# code, and words of ours where they have no place. What to say depends on the parameters of the
# function: the first that it has decides, and "" stands for any.
_WORDS: dict[str, dict[str, str]] = {
    "attn_mask attention_mask custom_mask mask": {
        "bias": "mask= (boolean, True = may attend); numbers to add to the scores are bias=",
        "mask": "mask= (boolean, True = kept)",
        "": "nothing: the mask= of attention_weights and of attention hides keys",
    },
    "key_padding_mask key_mask value_mask": _BY_LENGTHS,
    "seq_lens key_value_seq_lengths cache_seqlens nonpad_kv_seqlen": _BY_LENGTHS,
    "segment_ids cu_seqlens_q cu_seqlens_k": {
        "segments": "segments=, a number for each position",
        "mask": "mask=segment_mask(segments)",
    },
    "attn_bias position_bias alibi_slopes bias": {
        "bias": "bias= (floating, added to the scaled scores); what hides keys is mask=",
        "scores": "nothing: add it to the scores",
    },
    "is_causal use_causal_mask causal_mask causal": {
        "causal": "causal=",
        "mask": "mask=causal_mask(Tq, Tk)",
    },
    "window window_size local_window_size left_window_size right_window_size sliding_window": {
        "window": "window=(left, right), without the position itself, None for no limit",
        "left": "left= and right=, without the position itself, None for no limit",
        "mask": "mask=window_mask(...), or window= in the streaming form",
    },
    "offset start_pos": {
        "offset": "offset=, the position of the first query",
        "causal": "nothing: a cache counts the positions itself",
        "positions": "positions=",
        "mask": "mask=causal_mask(Tq, Tk, offset=...)",
    },
    "softmax_scale sm_scale scaling scale": {
        "scale": "scale=",
        "scores": "nothing: it is the scale= of scaled_scores",
        "": "nothing: multiply before",
    },
    "temperature": {
        "scale": "scale=1 / (temperature * sqrt(d_k))",
        "": "nothing: divide the scores by it",
    },
    "softcap logits_soft_cap attn_logits_soft_cap attn_logit_softcapping soft_cap": {
        "soft_cap": "soft_cap=, None for none",
        "cap": "cap=",
        "scores": "nothing: soft_cap(scores, cap) bends them",
    },
    "num_heads n_heads heads n_head nhead num_attention_heads num_query_heads q_num_heads": {
        "num_heads": "num_heads=",
        "": "nothing: heads are a leading axis, which split_heads makes; multi_head_attention has "
        "num_heads=",
    },
    "enable_gqa num_kv_heads n_kv_heads kv_num_heads num_key_value_heads": {
        "num_key_value_heads": "num_key_value_heads=",
        "": "repeat_key_value_heads, or num_key_value_heads= of multi_head_attention",
    },
    "embed_dim hidden_size head_dim key_dim value_dim kdim vdim d_model": {
        "d_model": "d_model=",
        "": "nothing: the arrays have their widths",
    },
    "dropout dropout_p dropout_rate attention_dropout training": {"": _NOT_DROPPED},
    "p": {"bias": _NOT_DROPPED},
    "need_weights return_weights average_attn_weights return_attention_scores output_attentions "
    "return_attn_probs": {
        "query": "nothing: attention_weights(scaled_scores(query, key), mask=mask) are the weights",
        "": "nothing: attention_weights returns them",
    },
    "return_lse return_softmax_lse return_residual": {
        "block_size": "nothing: attention_state(...).log_sum_exp",
        "": "nothing: log_sum_exp(scores, mask=mask)",
    },
    "past_key past_value past_key_value past_key_values k_cache v_cache use_cache": {
        "": "KeyValueCache, which holds keys and values",
    },
    "block_size": {"query": "nothing: streaming_attention works in blocks"},
    "dim axis": {
        "axis": "axis=",
        "scores": "nothing: the last axis is that of the keys",
        "logits": "nothing: the last axis is that of the tokens",
        "": "nothing: arrays are (..., T, d)",
    },
    "batch_first": {"": "nothing: arrays are (..., T, d), whatever is in front"},
    "where": {"axis": "the mask= of attention_weights"},
    "q Q queries query": {
        "query": "query=",
        "x_query": "x_query=, which w_query projects",
        "w_query": "x=, which w_query projects",
        "scores": "scores=, from scaled_scores(query, key)",
    },
    "k K keys key": {
        "key": "key=",
        "x_key_value": "x_key_value=, which w_key projects",
        "w_key": "x=, which w_key projects",
        "scores": "scores=, from scaled_scores(query, key)",
    },
    "v V values value": {
        "value": "value=",
        "x_key_value": "x_key_value=, which w_value projects",
        "w_value": "x=, which w_value projects",
    },
    "hidden_states": {
        "x": "x=",
        "x_query": "x_query= and x_key_value=",
        "query": "query=, key= and value=, after the projections",
    },
    "in_proj_weight": {"w_query": "w_query=, w_key= and w_value=, each transposed"},
    "q_proj_weight": {"w_query": "w_query=, transposed"},
    "k_proj_weight": {"w_key": "w_key=, transposed"},
    "v_proj_weight": {"w_value": "w_value=, transposed"},
    "out_proj_weight": {"w_output": "w_output=, transposed"},
    "use_bias qkv_bias in_proj_bias out_proj_bias": {"": "nothing: projections have no bias"},
    "grad_output dout": {"d_output": "d_output=", "d_weights": "d_weights="},
    "input": {"x": "x=", "scores": "scores=", "logits": "logits="},
    "x1": {"x": "x="},
    "x2": {"y": "y="},
    "target labels": {"targets": "targets="},
    "ignore_index": {"targets": "mask= (boolean, True = this position counts)"},
    "position_ids": {"positions": "positions="},
    "theta rope_theta": {"base": "base="},
    "rotary_interleaved traditional": {"interleaved": "interleaved="},
}
_FOREIGN = {word: says for words, says in _WORDS.items() for word in words.split()}


def refusal(function: str, word: str, parameters: list[str]) -> str:
    """Return what to say of a keyword that a function does not have, first as Python says it."""
    refused = f"{function}() got an unexpected keyword argument {word!r}"
    for name, says in _FOREIGN.get(word, {}).items():
        if name in ("", *parameters):
            return f"{refused}: here that is {says}"
    for close in difflib.get_close_matches(word, parameters, 1):
        return f"{refused}: did you mean {close}=?"
    return f"{refused}: it has {', '.join(parameters)}"
