"""Derivations for the part "Beyond one head"."""

from __future__ import annotations

from fractions import Fraction

import mpmath

from derivations.algebra import (
    Matrix,
    Real,
    Vector,
    divided_by_root,
    dot,
    dot_products,
    exponential,
    largest,
    logarithm,
    matrix_sum,
    product,
    require,
    rows,
    softmax,
    times,
    total,
    transpose,
)
from derivations.attention import attend, causal, roles, weights_of
from derivations.gradients import (
    attention_gradients,
    central_differences,
    require_agreement,
)
from derivations.kinds import Expected, Inputs, derivation
from derivations.recording import Words, because, chosen, plain, step


def split(x: Matrix, heads: Real) -> list[Matrix]:
    width = len(x[0]) // int(heads)
    return [
        [[chosen(entry, heads) for entry in row[h * width : (h + 1) * width]] for row in x]
        for h in range(int(heads))
    ]


def merge(heads: list[Matrix]) -> Matrix:
    return [[chosen(entry) for row in same for entry in row] for same in zip(*heads, strict=True)]


@derivation
def two_heads(inputs: Inputs) -> Expected:
    heads = inputs["num_heads"]
    projected = roles(inputs, inputs["embeddings"])
    query, key, value = (split(x, heads) for x in projected)
    attended = [attend(*head) for head in zip(query, key, value, strict=True)]
    outputs = [head.output for head in attended]
    merged = merge(outputs)
    # Head h meets its own rows of the output matrix.
    size = len(outputs[0][0])
    blocks = [inputs["w_output"][h * size : (h + 1) * size] for h in range(int(heads))]
    contributions = [product(o, w) for o, w in zip(outputs, blocks, strict=True)]
    return {
        **dict(zip(("query", "key", "value"), projected, strict=True)),
        "query_heads": query,
        "key_heads": key,
        "value_heads": value,
        "scaled_scores": [
            divided_by_root(dot_products(q, k), size) for q, k in zip(query, key, strict=True)
        ],
        "weights": [head.weights for head in attended],
        "head_outputs": outputs,
        "merged": merged,
        "output": product(merged, inputs["w_output"]),
        "contributions": contributions,
    }


@derivation
def two_banks_two_heads(inputs: Inputs) -> Expected:
    heads, w_output = inputs["num_heads"], inputs["w_output"]
    names = ("query", "key", "value")
    projected = roles(inputs, inputs["embeddings"])
    pieces = [split(x, heads) for x in projected]
    expected: Expected = dict(zip(names, projected, strict=True))
    expected |= {f"{name}_heads": x for name, x in zip(names, pieces, strict=True)}
    size = len(pieces[0][0][0])
    for sense in ("money", "river"):
        places = inputs[f"sentence_{sense}"]
        sentence = [[rows(head, places) for head in x] for x in pieces]
        attended = [attend(*head) for head in zip(*sentence, strict=True)]
        outputs = [head.output for head in attended]
        one_head = attend(*(rows(x, places) for x in projected))
        # Head h meets its own rows of the output matrix.
        contributions = [
            product(output, w_output[h * size : (h + 1) * size]) for h, output in enumerate(outputs)
        ]
        expected |= {
            f"scores_{sense}": [
                dot_products(q, k) for q, k in zip(sentence[0], sentence[1], strict=True)
            ],
            f"weights_{sense}": [head.weights for head in attended],
            f"head_outputs_{sense}": outputs,
            f"merged_{sense}": merge(outputs),
            f"contributions_{sense}": contributions,
            f"output_{sense}": matrix_sum(*contributions),
            f"weights_one_head_{sense}": one_head.weights,
            f"output_one_head_{sense}": product(one_head.output, w_output),
        }
    return expected


@derivation
def grouped_heads(inputs: Inputs) -> Expected:
    sizes = inputs["num_heads"], inputs["num_key_value_heads"]
    heads, shared = map(int, sizes)
    query, key, value = roles(inputs, inputs["embeddings"])
    query_heads = split(query, sizes[0])
    key_heads, value_heads = split(key, sizes[1]), split(value, sizes[1])
    reads = [h // (heads // shared) for h in range(heads)]
    attended = [
        attend(q, key_heads[g], value_heads[g]) for q, g in zip(query_heads, reads, strict=True)
    ]
    merged = merge([head.output for head in attended])
    return {
        "reads": [because(g, *sizes) for g in reads],
        "query_heads": query_heads,
        "key_heads": key_heads,
        "value_heads": value_heads,
        "weights": [head.weights for head in attended],
        "head_outputs": [head.output for head in attended],
        "merged": merged,
        "output": product(merged, inputs["w_output"]),
    }


def sines_and_cosines(length: int, width: int, base: Real) -> Matrix:
    encoding = []
    for t in range(length):
        row = []
        for i in range(width // 2):
            divisor = step("power", base, Fraction(2 * i, width), words=Words("divisor"))
            angle = step("divide", t, divisor, words=Words("angle"))
            row += [step("sin", angle), step("cos", angle)]
        encoding.append(row)
    return encoding


@derivation
def words_in_another_order(inputs: Inputs) -> Expected:
    words = inputs["embeddings"]
    reverse, cycle = (rows(words, inputs[name]) for name in ("reversal", "cycle"))
    encoding = sines_and_cosines(len(words), len(words[0]), inputs["base"])
    mask = causal(len(words))
    plain = attend(*roles(inputs, words))
    encoded = attend(*roles(inputs, matrix_sum(words, encoding)))
    encoded_reversed = attend(*roles(inputs, matrix_sum(reverse, encoding)))
    return {
        "weights": plain.weights,
        "output": plain.output,
        "output_reversed": attend(*roles(inputs, reverse)).output,
        "output_cycled": attend(*roles(inputs, cycle)).output,
        "encoding": encoding,
        "weights_encoded": encoded.weights,
        "weights_encoded_reversed": encoded_reversed.weights,
        "output_encoded": encoded.output,
        "output_encoded_reversed": encoded_reversed.output,
        "output_causal": attend(*roles(inputs, words), mask).output,
        "output_causal_reversed": attend(*roles(inputs, reverse), mask).output,
    }


def rotated(x: Vector, position: Real, frequencies: Vector, *, neighbors: bool = False) -> Vector:
    half = len(x) // 2
    words = Words(rule="pairs of columns turned by their angles, from {0}")
    pairs = [(2 * i, 2 * i + 1) if neighbors else (i, i + half) for i in range(half)]
    result = [*x]
    for (first, second), frequency in zip(pairs, frequencies, strict=True):
        a, b = x[first], x[second]
        angle = step("multiply", position, frequency, words=Words("angle"))
        cos, sin = step("cos", angle), step("sin", angle)
        result[first] = step("subtract", a * cos, b * sin, words=words)
        result[second] = step("sum", a * sin, b * cos, words=words)
    return result


@derivation
def rotation_by_position(inputs: Inputs) -> Expected:
    query, key, positions = inputs["query"], inputs["key"], inputs["positions"]
    width = len(query)
    frequencies = [
        step("power", inputs["base"], Fraction(-2 * i, width)) for i in range(width // 2)
    ]

    def everywhere(x: Vector, places: Vector = positions, *, neighbors: bool = False) -> Matrix:
        return [rotated(x, p, frequencies, neighbors=neighbors) for p in places]

    moved = [p + inputs["shift"] for p in positions]
    scores = dot_products(everywhere(query), everywhere(key))
    shifted = dot_products(everywhere(query, moved), everywhere(key, moved))
    # Rotating the query alone, by the distance, must do.
    last = len(positions) - 1
    distances = range(-last, last + 1)
    by_distance = [dot(rotated(query, d, frequencies), key) for d in distances]
    limit = mpmath.mpf(10) ** (5 - mpmath.mp.dps)
    for i in range(len(positions)):
        for j in range(len(positions)):
            same = by_distance[i - j + last]
            off = max(abs(scores[i][j] - same), abs(shifted[i][j] - same))
            require(off < limit, "a score depends on more than the distance")
    return {
        "frequencies": frequencies,
        "rotated_query": everywhere(query),
        "rotated_key": everywhere(key),
        "rotated_query_neighbors": everywhere(query, neighbors=True),
        "rotated_key_neighbors": everywhere(key, neighbors=True),
        "scores": scores,
        "scores_shifted": shifted,
        "scores_by_distance": by_distance,
        "scores_neighbors": dot_products(
            everywhere(query, neighbors=True), everywhere(key, neighbors=True)
        ),
    }


# Maximum, sum of exponentials, and sum of values weighted by them: what a block leaves behind.
State = tuple[Real, Real, Vector]


def state_of(scores: Vector, values: Matrix) -> State:
    highest = largest(scores)
    exponentials = [exponential(score - highest) for score in scores]
    return highest, total(exponentials), product([exponentials], values)[0]


def merged_state(one: State, other: State) -> State:
    highest = largest([one[0], other[0]])
    a, b = (exponential(state[0] - highest) for state in (one, other))
    weighted = [a * x + b * y for x, y in zip(one[2], other[2], strict=True)]
    return highest, a * one[1] + b * other[1], weighted


@derivation
def softmax_in_one_pass(inputs: Inputs) -> Expected:
    value, size = inputs["value"], int(inputs["block_size"])
    block = inputs["block_size"]
    limit = mpmath.mpf(10) ** (5 - mpmath.mp.dps)
    columns: dict[str, list[object]] = {
        name: []
        for name in (
            *("running_maximum", "running_sum", "block_maximum", "block_sum", "block_weighted"),
            *("merged_maximum", "merged_sum", "merged_weighted", "log_sum_exp"),
            *("weights", "output"),
        )
    }
    for scores in inputs["scores"]:
        running = [state_of(scores[:n], value[:n]) for n in range(1, len(scores) + 1)]
        blocks = [
            state_of(scores[i : i + size], value[i : i + size]) for i in range(0, len(scores), size)
        ]
        merged = merged_state(*blocks)
        for other in (merged_state(*reversed(blocks)), running[-1]):
            off = [merged[0] - other[0], merged[1] - other[1]]
            off += [x - y for x, y in zip(merged[2], other[2], strict=True)]
            same = max(abs(difference) for difference in off) < limit
            require(same, "the order of the keys changes the state")
        weights = softmax(scores)
        row = {
            "running_maximum": [state[0] for state in running],
            "running_sum": [state[1] for state in running],
            "block_maximum": [because(state[0], block) for state in blocks],
            "block_sum": [because(state[1], block) for state in blocks],
            "block_weighted": [[because(x, block) for x in state[2]] for state in blocks],
            "merged_maximum": merged[0],
            "merged_sum": merged[1],
            "merged_weighted": merged[2],
            "log_sum_exp": merged[0] + logarithm(merged[1]),
            "weights": weights,
            "output": product([weights], value)[0],
        }
        for name, entry in row.items():
            columns[name].append(entry)
    return dict(columns)


@derivation
def gradient_by_hand(inputs: Inputs) -> Expected:
    names = ("embeddings", "w_query", "w_key", "w_value")
    d_output = inputs["d_output"]

    def loss(**changed: Matrix) -> Real:
        given = {**inputs, **changed}
        output = attend(*roles(given, given["embeddings"])).output
        return total(dot(o, d) for o, d in zip(output, d_output, strict=True))

    words = inputs["embeddings"]
    query, key, value = roles(inputs, words)
    back = attention_gradients(query, key, value, d_output)
    through = {"query": back.d_query, "key": back.d_key, "value": back.d_value}
    d_words = matrix_sum(
        *(product(gradient, transpose(inputs[f"w_{role}"])) for role, gradient in through.items())
    )
    d_matrices = {f"w_{role}": product(transpose(words), d) for role, d in through.items()}
    for name, gradient in zip(names, (d_words, *d_matrices.values()), strict=True):

        def of_one(x: Matrix, name: str = name) -> Real:
            return loss(**{name: x})

        require_agreement(f"d_{name}", gradient, central_differences(of_one, inputs[name]))
    return {
        **dict(zip(("query", "key", "value"), (query, key, value), strict=True)),
        "weights": attend(query, key, value).weights,
        "loss": loss(),
        "d_value": back.d_value,
        "d_weights": back.d_weights,
        "d_scaled_scores": back.d_scaled_scores,
        "d_scores": back.d_scores,
        "d_query": back.d_query,
        "d_key": back.d_key,
        "d_w_query": d_matrices["w_query"],
        "d_w_key": d_matrices["w_key"],
        "d_w_value": d_matrices["w_value"],
        "d_x": d_words,
    }


def induced(text: Vector, inputs: Inputs, *, through: str = "query key value") -> dict[str, Matrix]:
    """Return what two layers make of a text.

    `through` names the roles of layer 2 that are made of the sum of the embeddings and layer 1; the
    others are made of the embeddings alone.
    """
    tokens = len(inputs["words"])
    one_hot = [[Fraction(n == token) for n in range(tokens)] for token in range(tokens)]

    def said(value: Real, words: str, *conditions: Real) -> Real:
        return chosen(value, *conditions, words=Words(says=f"{words}: {plain(value)}"))

    nothing = [said(0, "nothing stands here yet")] * (2 * tokens)
    words = []
    for p, token in enumerate(text):
        places = [
            said(here, f"position {p} holds {'this' if here else 'another'} word", token)
            for here in one_hot[int(token)]
        ]
        places += [said(1, "1 at every position"), said(p, "the position")]
        words.append([*places, said(p * p, "the position, squared"), *nothing])
    mask, scale = causal(len(text)), inputs["scale"]

    def heard(layer: str, **sources: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        query, key, value = (product(x, inputs[f"w_{role}_{layer}"]) for role, x in sources.items())
        scores = dot_products(query, key)
        weights = weights_of(times(scores, scale), mask)
        return scores, weights, product(weights, value)

    first_scores, first_weights, first_output = heard("first", query=words, key=words, value=words)
    stream = matrix_sum(words, product(first_output, inputs["w_output_first"]))
    sources = {role: stream if role in through else words for role in ("query", "key", "value")}
    second_scores, second_weights, votes = heard("second", **sources)
    return {
        "embeddings": words,
        "first_scores": first_scores,
        "first_weights": first_weights,
        "first_output": first_output,
        "stream": stream,
        "second_scores": second_scores,
        "second_weights": second_weights,
        "votes": votes,
    }


@derivation
def induction_head(inputs: Inputs) -> Expected:
    text = inputs["text"]
    expected: Expected = dict(induced(text, inputs))
    for role, others in {"query": "key value", "key": "query value", "value": "query key"}.items():
        votes = induced(text, inputs, through=others)["votes"]
        expected[f"votes_without_{role}_path"] = votes
    repeated = induced(inputs["repeated"], inputs)
    for name in ("first_weights", "second_weights", "votes"):
        expected[f"{name}_repeated"] = repeated[name]
    variants = [inputs[f"variant_{number}"] for number in ("one", "two", "three", "four")]
    expected["votes_variants"] = [induced(variant, inputs)["votes"][-1] for variant in variants]

    # The scores of layer 1 are (i − 1)² − (i − 1 − j)²: its weights fall like a Gauss curve.
    limit = mpmath.mpf(10) ** (5 - mpmath.mp.dps)
    for i, row in enumerate(repeated["first_weights"]):
        curve = [exponential(-inputs["scale"] * (i - 1 - j) ** 2) for j in range(i + 1)]
        for weight, height in zip(row, curve, strict=False):
            same = abs(weight - height / total(curve)) < limit
            require(same, "layer 1 does not listen to the position before")
    return expected


@derivation
def one_step_of_training(inputs: Inputs) -> Expected:
    query, key, value = (inputs[name] for name in ("query", "key", "value"))

    def answer(key: Matrix) -> Real:
        return attend(query, key, value).output[0][0]

    def loss(key: Matrix) -> Real:
        return logarithm(1 + exponential(-answer(key)))

    before = attend(query, key, value)
    slope = -1 / (1 + exponential(answer(key)))
    back = attention_gradients(query, key, value, [[slope]])
    require_agreement("d_key", back.d_key, central_differences(loss, key))
    moved = [
        [k - inputs["learning_rate"] * d for k, d in zip(*row, strict=True)]
        for row in zip(key, back.d_key, strict=True)
    ]
    after = attend(query, moved, value)
    off = abs(answer(moved) - mpmath.tanh(1))
    require(off < mpmath.mpf(10) ** -45, "the answer after the step is not tanh 1")
    return {
        "weights": before.weights,
        "output": before.output,
        "loss": loss(key),
        "d_output": [[slope]],
        "d_weights": back.d_weights,
        "d_scores": back.d_scores,
        "d_query": back.d_query,
        "d_key": back.d_key,
        "d_value": back.d_value,
        "key_after": moved,
        "weights_after": after.weights,
        "output_after": after.output,
        "loss_after": loss(moved),
    }


@derivation
def cost_of_attention(inputs: Inputs) -> Expected:
    sizes = [
        inputs[name]
        for name in (
            *("length", "d_model", "num_heads", "num_key_value_heads"),
            *("d_k", "d_v", "layers", "bytes_per_number"),
        )
    ]
    length, width, heads, shared, d_k, d_v, layers, size = map(int, sizes)
    tokens = range(length)
    last = length - 1
    cases: list[tuple[list[int], set[tuple[int, int]]]] = [  # who is new, and who sees whom
        ([*tokens], {(i, j) for i in tokens for j in tokens}),
        ([*tokens], {(i, j) for i in tokens for j in tokens if j <= i}),
        ([last], {(last, j) for j in tokens}),
    ]
    columns: dict[str, list[object]] = {
        name: []
        for name in (
            *("pairs", "scores_multiplications", "output_multiplications"),
            *("projection_multiplications", "operations", "uses_of_a_key"),
        )
    }
    for new, seen in cases:
        for_scores = for_output = projecting = 0
        # How often each number of each key is used; the key/value heads are all alike.
        uses = {(g, j, c): 0 for g in range(shared) for j in tokens for c in range(d_k)}
        for head in range(heads):
            for _, j in seen:
                for c in range(d_k):
                    for_scores += 1
                    uses[head * shared // heads, j, c] += 1
                for _ in range(d_v):
                    for_output += 1
        for _ in new:
            for made in (heads * d_k, shared * d_k, shared * d_v):
                for _ in range(made):
                    for _ in range(width):
                        projecting += 1
            for _ in range(width):
                for _ in range(heads * d_v):
                    projecting += 1
        of_keys = []
        for j in tokens:
            (alike,) = {n for (_, at, _), n in uses.items() if at == j}
            of_keys.append(because(alike, *sizes))
        counts = [len(seen), for_scores, for_output, projecting]
        counts.append(2 * sum(counts[1:]))
        counted = [because(count, *sizes) for count in counts]
        for column, entry in zip(columns.values(), [*counted, of_keys], strict=True):
            column.append(entry)

    def cached(stores: int) -> int:
        kept = 0
        for _ in range(layers * stores):
            for _ in tokens:
                kept += len([*range(d_k), *range(d_v)])
        return kept

    return {
        **columns,
        "cache_numbers": because(cached(shared), *sizes),
        "cache_bytes": because(size * cached(shared), *sizes),
        "cache_bytes_unshared": because(size * cached(heads), *sizes),
    }
