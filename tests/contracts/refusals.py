"""Calls that are refused, and what the message says.

A section begins with the functions that it asks, or with ``all with`` and the parameters that they
have in common. Each of its cases changes arguments of the valid call in the table (without leading
axes, its options left at their defaults), and expects this error with this message.
"""

REFUSALS = """
== scaled_dot_product_attention scaled_dot_product_attention_vjp attention_state
== streaming_attention streaming_attention_vjp
key=ones(7, 4)
    ValueError: query (5, 3) and key (7, 4): they must have the same width d_k, got 3 and 4
value=ones(6, 2)
    ValueError: key (7, 3) and value (6, 2): they must have the same length, got 7 and 6
query=ones(2, 5, 3), key=ones(3, 7, 3)
    ValueError: query (2, 5, 3) and key (3, 7, 3): the axes before the last two must be equal, or
    1, or absent
query=ones(2, 5, 3), value=ones(3, 7, 2)
    ValueError: query (2, 5, 3) and key (7, 3) and value (3, 7, 2): the axes before the last two
    must be equal, or 1, or absent
query=ones(2, 6, 5, 3), key=ones(2, 3, 7, 3)
    ValueError: query (2, 6, 5, 3) and key (2, 3, 7, 3): the axes before the last two must be
    equal, or 1, or absent; heads that share keys and values: repeat_key_value_heads
query=ones(2, 6, 5, 3), key=ones(2, 4, 7, 3)
    ValueError: query (2, 6, 5, 3) and key (2, 4, 7, 3): the axes before the last two must be
    equal, or 1, or absent
query=ones(0, 5, 3), key=ones(2, 7, 3)
    ValueError: query (0, 5, 3) and key (2, 7, 3): the axes before the last two must be equal, or
    1, or absent
query=ones(5, 0), key=ones(7, 0)
    ValueError: scale: 1/√d_k is undefined for d_k = 0; pass a scale

== scaled_dot_product_attention scaled_dot_product_attention_vjp attention_state
== streaming_attention streaming_attention_vjp attention_weights log_sum_exp AttentionState.of
mask=ones(5, 7)
    TypeError: mask must be boolean (True = this query may attend to this key), got dtype float64;
    numbers to add to the scores are a bias
mask=ones(5, 7, dtype=np.int8)
    TypeError: mask must be boolean (True = this query may attend to this key), got dtype int8;
    numbers to add to the scores are a bias
mask=ones(5, 3, dtype=bool)
    ValueError: mask (5, 3) and scores (5, 7): each axis of mask, counted from the last, must be
    equal to that of the scores, or 1
mask=ones(7, 5, dtype=bool)
    ValueError: mask (7, 5) and scores (5, 7): each axis of mask, counted from the last, must be
    equal to that of the scores, or 1
mask=ones(0, dtype=bool)
    ValueError: mask (0,) and scores (5, 7): each axis of mask, counted from the last, must be
    equal to that of the scores, or 1
mask=ones(1, 5, 7, dtype=bool)
    ValueError: mask (1, 5, 7) and scores (5, 7): each axis of mask, counted from the last, must be
    equal to that of the scores, or 1

== scaled_dot_product_attention scaled_dot_product_attention_vjp attention_state
== streaming_attention streaming_attention_vjp
query=ones(1, 3), mask=ones(5, 7, dtype=bool)
    ValueError: mask (5, 7) and scores (1, 7): each axis of mask, counted from the last, must be
    equal to that of the scores, or 1
value=ones(2, 7, 2), mask=ones(2, 5, 7, dtype=bool)
    ValueError: mask (2, 5, 7) and scores (5, 7): each axis of mask, counted from the last, must be
    equal to that of the scores, or 1
bias=ones(7, 5)
    ValueError: bias (7, 5) and scores (5, 7): each axis of bias, counted from the last, must be
    equal to that of the scores, or 1
bias=ones(3, 5, 7)
    ValueError: bias (3, 5, 7) and scores (5, 7): each axis of bias, counted from the last, must be
    equal to that of the scores, or 1

== self_attention self_attention_vjp
w_query=ones(7, 11)
    ValueError: x (13, 11) and w_query (7, 11): they must have the same width d_model, got 11 and 7
w_key=ones(2, 3)
    ValueError: x (13, 11) and w_key (2, 3): they must have the same width d_model, got 11 and 2
w_value=ones(3, 2)
    ValueError: x (13, 11) and w_value (3, 2): they must have the same width d_model, got 11 and 3
w_key=ones(11, 2)
    ValueError: w_query (11, 3) and w_key (11, 2): they must have the same width d_k, got 3 and 2
w_value=ones(2, 11, 2)
    ValueError: w_value (2, 11, 2): it must be a matrix, (d_model, d)
w_key=ones(11)
    ValueError: w_key (11,): it must be a matrix, (d_model, d)
w_key=1.0
    ValueError: w_key (): it must have the axes (d_model, d)
w_query=ones(11, 0), w_key=ones(11, 0)
    ValueError: scale: 1/√d_k is undefined for d_k = 0; pass a scale
mask=ones(13, 11, dtype=bool)
    ValueError: mask (13, 11) and scores (13, 13): each axis of mask, counted from the last, must
    be equal to that of the scores, or 1
mask=ones(13, 13)
    TypeError: mask must be boolean (True = this query may attend to this key), got dtype float64;
    numbers to add to the scores are a bias

== scaled_dot_product_attention_vjp streaming_attention_vjp
d_output=ones(5, 3)
    ValueError: d_output (5, 3) and output (5, 2): they must have the same shape
d_output=ones(1, 5, 2)
    ValueError: d_output (1, 5, 2) and output (5, 2): they must have the same shape
query=ones(4, 5, 3)
    ValueError: d_output (5, 2) and output (4, 5, 2): they must have the same shape
== self_attention_vjp
d_output=ones(13, 3)
    ValueError: d_output (13, 3) and output (13, 2): they must have the same shape
== softmax_vjp
d_weights=ones(1, 3)
    ValueError: weights (3,) and d_weights (1, 3): they must have the same shape

== all with bias
bias=ones(1, 1, dtype=bool)
    TypeError: bias must be floating, got dtype bool; to say which key a query may attend to, pass
    a boolean mask
bias=ones(1, 1, dtype=int)
    TypeError: bias must be floating, got dtype int64; to say which key a query may attend to, pass
    a boolean mask
bias=ones(1, 1, dtype=complex)
    TypeError: bias must hold real numbers, got dtype complex128

== all with scale
scale=-(10**400)
    ValueError: scale must be finite, got -inf
scale=Fraction(10**400)
    ValueError: scale must be finite, got inf

== all with soft_cap
soft_cap=0
    ValueError: soft_cap must be positive, got 0.0
== all with offset, causal
offset=1
    ValueError: offset 1: it has no meaning without causal=True
offset=-1
    ValueError: offset -1: it has no meaning without causal=True

== all with block_size
block_size=0
    ValueError: block_size must be at least 1, got 0
block_size=(4, -1)
    ValueError: block_size must be at least 1, got -1
block_size=2.0
    TypeError: block_size must be an integer, got float
block_size=(1, True)
    TypeError: block_size must be an integer, got bool
block_size=(1, 2, 3)
    ValueError: block_size must be an integer or a pair (queries, keys), got (1, 2, 3)
window=3
    ValueError: window must be a pair (left, right) of integers or None: 3
window=(1, 2, 3)
    ValueError: window must be a pair (left, right) of integers or None: (1, 2, 3)
window=(-1, 2)
    ValueError: left must be at least 0, got -1; None sets no limit
window=(1, 2.0)
    TypeError: right must be an integer, got float; None sets no limit
== streaming_attention_vjp
state=(1, 2, 3)
    TypeError: state must be an AttentionState, got tuple
state=AttentionState.of(ones(4, 7), ones(7, 2))
    ValueError: state (4, 2) and output (5, 2): they must have the same shape
== AttentionState.of
value=ones(6, 2)
    ValueError: scores (5, 7) and value (6, 2): they must have the same length, got 7 and 6

== cosine_similarity dot_similarity euclidean_distance
y=ones(7, 2)
    ValueError: x (3, 4) and y (7, 2): they must have the same width d, got 4 and 2
x=ones(2, 3, 4), y=ones(11, 7, 4)
    ValueError: x (2, 3, 4) and y (11, 7, 4): the axes before the last two must be equal, or 1, or
    absent
== cosine_similarity
x=[[1.0, 2.0], [0.0, -0.0]], y=None
    ValueError: x (2, 2): row 1 is a zero vector, which has no direction
x=ones(3, 2), y=[[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]]
    ValueError: y (2, 2, 2): row 1, 1 is a zero vector, which has no direction
x=ones(3, 0), y=None
    ValueError: x (3, 0): row 0 is a zero vector, which has no direction

== scaled_scores
key=ones(7, 4)
    ValueError: query (5, 3) and key (7, 4): they must have the same width d_k, got 3 and 4
query=ones(2, 5, 3), key=ones(11, 7, 3)
    ValueError: query (2, 5, 3) and key (11, 7, 3): the axes before the last two must be equal, or
    1, or absent
query=ones(5, 0), key=ones(7, 0)
    ValueError: scale: 1/√d_k is undefined for d_k = 0; pass a scale
== soft_cap
cap=0
    ValueError: cap must be positive, got 0.0
cap=-2
    ValueError: cap must be positive, got -2.0
scores=ones(1, dtype=np.float32), cap=1e300
    ValueError: cap must be positive and finite in float32, got 1e+300
scores=ones(1, dtype=np.float32), cap=1e-50
    ValueError: cap must be positive and finite in float32, got 1e-50

== softmax log_softmax
axis=1
    ValueError: axis 1: x (3,) has no such axis
axis=-2
    ValueError: axis -2: x (3,) has no such axis
x=1.0
    ValueError: axis -1: x () has no such axis

== causal_mask window_mask
Tq=-1
    ValueError: Tq must be at least 0, got -1
Tk=-2
    ValueError: Tk must be at least 0, got -2
== window_mask
left=-1
    ValueError: left must be at least 0, got -1; None sets no limit
right=-1
    ValueError: right must be at least 0, got -1; None sets no limit

== padding_mask
lengths=[1, 8]
    ValueError: lengths (2,): each must lie between 0 and Tk = 7, got 8 at (1,)
lengths=[[1, 2], [3, -1]]
    ValueError: lengths (2, 2): each must lie between 0 and Tk = 7, got -1 at (1, 1)
lengths=9
    ValueError: lengths (): each must lie between 0 and Tk = 7, got 9 at ()
lengths=[1.0, 2.0]
    TypeError: lengths must hold integers, got dtype float64
lengths=[True, False]
    TypeError: lengths must hold integers, got dtype bool
lengths=["1"]
    TypeError: lengths must hold integers, got dtype <U1
lengths=[10**30]
    TypeError: lengths must hold integers, got dtype object
Tk=-3
    ValueError: Tk must be at least 0, got -3
== segment_mask
segments=[0.0, 1.0]
    TypeError: segments must hold integers, got dtype float64
key_segments=[True]
    TypeError: key_segments must hold integers, got dtype bool
segments=3
    ValueError: segments (): it must have the axes (..., T), a number for each row
segments=ones(2, 3, dtype=int), key_segments=ones(3, 3, dtype=int)
    ValueError: segments (2, 3, 1) and key_segments (3, 3, 1): the axes before the last two must be
    equal, or 1, or absent

== merge_heads
x=ones(3, 4)
    ValueError: x (3, 4): it must have the axes (..., h, T, d)
== split_heads
num_heads=5
    ValueError: x (13, 12): its width must be a multiple of num_heads, got 12 and 5
num_heads=0
    ValueError: num_heads must be at least 1, got 0
== repeat_key_value_heads
num_heads=7
    ValueError: x (2, 13, 4): num_heads must be a multiple of the number of its heads, got 7 and 2
num_heads=1
    ValueError: x (2, 13, 4): num_heads must be a multiple of the number of its heads, got 1 and 2
x=ones(0, 5, 4)
    ValueError: x (0, 5, 4): num_heads must be a multiple of the number of its heads, got 6 and 0
num_heads=0
    ValueError: num_heads must be at least 1, got 0
== multi_head_attention
w_query=ones(11, 19)
    ValueError: w_query (11, 19): its width must be a multiple of num_heads, got 19 and 6
w_key=ones(17, 7)
    ValueError: w_key (17, 7): its width must be a multiple of num_key_value_heads, got 7 and 2
w_value=ones(17, 5)
    ValueError: w_value (17, 5): its width must be a multiple of num_key_value_heads, got 5 and 2
w_key=ones(17, 4)
    ValueError: w_query (11, 18) and w_key (17, 4): they must have the same width d_k of a head,
    got 3 and 2
w_key=ones(17, 8)
    ValueError: w_query (11, 18) and w_key (17, 8): they must have the same width d_k of a head,
    got 3 and 4
w_output=ones(7, 17)
    ValueError: w_value (17, 4) and w_output (7, 17): w_output must have num_heads · d_v = 6 · 2 =
    12 rows, got 7
w_output=ones(8)
    ValueError: w_output (8,): it must be a matrix, (H·d_v, d_output)
w_query=ones(2, 11, 18)
    ValueError: w_query (2, 11, 18): it must be a matrix, (d_model, d)
w_query=ones(10, 18)
    ValueError: x_query (5, 11) and w_query (10, 18): they must have the same width d_model, got 11
    and 10
w_value=ones(11, 4)
    ValueError: x_key_value (7, 17) and w_value (11, 4): they must have the same width d_model, got
    17 and 11
num_key_value_heads=4
    ValueError: num_heads must be a multiple of num_key_value_heads, got 6 and 4
num_key_value_heads=12
    ValueError: num_heads must be a multiple of num_key_value_heads, got 6 and 12
num_key_value_heads=0
    ValueError: num_key_value_heads must be at least 1, got 0
num_heads=0
    ValueError: num_heads must be at least 1, got 0
x_query=ones(2, 5, 11), x_key_value=ones(3, 7, 17)
    ValueError: x_query (2, 5, 11) and x_key_value (3, 7, 17): the axes before the last two must be
    equal, or 1, or absent
mask=ones(3, 5, 7, dtype=bool)
    ValueError: mask (3, 5, 7) and scores (6, 5, 7): each axis of mask, counted from the last, must
    be equal to that of the scores, or 1
bias=ones(5, 6)
    ValueError: bias (5, 6) and scores (6, 5, 7): each axis of bias, counted from the last, must be
    equal to that of the scores, or 1
mask=ones(5, 7)
    TypeError: mask must be boolean (True = this query may attend to this key), got dtype float64;
    numbers to add to the scores are a bias
w_query=ones(11, 0), w_key=ones(17, 0)
    ValueError: scale: 1/√d_k is undefined for d_k = 0; pass a scale

== sinusoidal_encoding
d_model=5
    ValueError: d_model must be even, got 5
T=-1
    ValueError: T must be at least 0, got -1
d_model=-2
    ValueError: d_model must be at least 0, got -2
== rotate_pairs
x=ones(13, 5)
    ValueError: x (13, 5): its width must be even, got 5
positions=[0, 1]
    ValueError: positions (2,) and x (13, 4): each axis of positions, counted from the last, must
    be equal to that of the rows (13,) of x, or 1
positions=ones(2, 13)
    ValueError: positions (2, 13) and x (13, 4): each axis of positions, counted from the last,
    must be equal to that of the rows (13,) of x, or 1
positions=["a"]
    TypeError: positions must hold real numbers, got dtype <U1
== all with base
base=0
    ValueError: base must be positive, got 0.0
base=-2.0
    ValueError: base must be positive, got -2.0

== all with logits
logits=ones(2, 11), targets=[0, 1, 2]
    ValueError: logits (2, 11) and targets (3,): targets must have the axes of logits without the
    last
logits=ones(3, 11)
    ValueError: logits (3, 11) and targets (): targets must have the axes of logits without the
    last
logits=ones(2, 3, 5), targets=[[0, 1, 2], [3, 5, 4]]
    ValueError: targets (2, 3): each must lie between 0 and V − 1 = 4, got 5 at (1, 1)
logits=ones(3, 5), targets=[0, -1, 2]
    ValueError: targets (3,): each must lie between 0 and V − 1 = 4, got -1 at (1,)
logits=ones(3, 5), targets=[-1, 9, 2], mask=[False, True, True]
    ValueError: targets (3,): each must lie between 0 and V − 1 = 4, got 9 at (1,)
logits=ones(5), targets=7
    ValueError: targets (): each must lie between 0 and V − 1 = 4, got 7 at ()
logits=ones(1, 0), targets=[0]
    ValueError: targets (1,): each must lie between 0 and V − 1 = -1, got 0 at (0,)
logits=ones(2, 5), targets=np.array([2**64 - 1, 0], np.uint64)
    ValueError: targets (2,): each must lie between 0 and V − 1 = 4, got 18446744073709551615 at
    (0,)
logits=ones(3, 5), targets=[0, 1, 2], mask=[False] * 3
    ValueError: targets (3,): no position is kept, and the mean of nothing is undefined
logits=ones(0, 5), targets=[]
    ValueError: targets (0,): no position is kept, and the mean of nothing is undefined
logits=ones(3, 5), targets=[0, 1, 2], mask=[True, False]
    ValueError: mask (2,) and targets (3,): each axis of mask, counted from the last, must be equal
    to that of the targets, or 1
logits=ones(3, 5), targets=[0, 1, 2], mask=ones(1, 3, dtype=bool)
    ValueError: mask (1, 3) and targets (3,): each axis of mask, counted from the last, must be
    equal to that of the targets, or 1
logits=ones(3, 5), targets=[0, 1, 2], mask=[1, 1, 0]
    TypeError: mask must be boolean (True = this position counts), got dtype int64
logits=ones(3, 5), targets=[0.0, 1.0, 2.0]
    TypeError: targets must hold integers, got dtype float64
logits=ones(2, 5), targets=[True, False]
    TypeError: targets must hold integers, got dtype bool
logits=5.0
    ValueError: logits (): it must have the axes (..., V)
"""
