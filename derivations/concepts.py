"""Derivations for the part "Concepts"."""

from __future__ import annotations

from fractions import Fraction

import mpmath

from derivations.algebra import (
    Matrix,
    cosine,
    distance,
    divided_by_root,
    dot,
    dot_products,
    exponential,
    logarithm,
    matrix_sum,
    mean,
    population_variance,
    product,
    require,
    rows,
    softmax,
    times,
    total,
    transpose,
)
from derivations.attention import roles, weights_of
from derivations.kinds import Expected, Inputs, derivation
from derivations.recording import Words, because, step


@derivation
def similarities_of_three_words(inputs: Inputs) -> Expected:
    words = inputs["embeddings"]
    dots = dot_products(words, words)
    return {
        "dot": dots,
        "cosine": [[cosine(x, y) for y in words] for x in words],
        "distance": [[distance(x, y) for y in words] for x in words],
        "scaled_dot": divided_by_root(dots, len(words[0])),
    }


@derivation
def cosine_attention_in_two_sentences(inputs: Inputs) -> Expected:
    expected: Expected = {}
    for sense in ("cave", "racket"):
        words = rows(inputs["embeddings"], inputs[f"sentence_{sense}"])
        weights = [softmax([cosine(x, y) for y in words]) for x in words]
        expected[f"weights_{sense}"] = weights
        expected[f"context_{sense}"] = product(weights, words)
    bat, cave = rows(inputs["embeddings"], inputs["sentence_cave"])
    expected["rounded_weights"] = softmax([Fraction(1), step("round", cosine(bat, cave), 2)])
    return expected


@derivation
def averages_of_two_sentences(inputs: Inputs) -> Expected:
    expected: Expected = {}
    for sense in ("kitchen", "git"):
        words = rows(inputs["embeddings"], inputs[f"sentence_{sense}"])
        git_action, vegetable = average = [mean(axis) for axis in transpose(words)]
        expected[f"average_{sense}"] = average
        expected[f"lean_{sense}"] = vegetable - git_action
    return expected


@derivation
def dot_products_of_five_words(inputs: Inputs) -> Expected:
    return {"dot": dot_products(inputs["embeddings"], inputs["embeddings"])}


@derivation
def softmax_by_hand(inputs: Inputs) -> Expected:
    exponentials = [exponential(score) for score in inputs["scores"]]
    return {
        "exponentials": exponentials,
        "total": total(exponentials),
        "weights": softmax(inputs["scores"]),
    }


def parameter_free(words: Matrix) -> tuple[Matrix, Matrix]:
    weights = [softmax(scores) for scores in dot_products(words, words)]
    return weights, product(weights, words)


@derivation
def attention_without_parameters(inputs: Inputs) -> Expected:
    weights, context = parameter_free(inputs["embeddings"])
    return {"weights": weights, "context": context}


@derivation
def one_word_in_two_sentences(inputs: Inputs) -> Expected:
    words = inputs["embeddings"]
    bank = inputs["words"].index("Bank")
    expected: Expected = {}
    for sense in ("money", "river"):
        sentence = inputs[f"sentence_{sense}"]
        weights, context = parameter_free(rows(words, sentence))
        expected[f"weights_{sense}"] = weights
        expected[f"context_{sense}"] = context
        expected[f"bank_{sense}"] = [because(x, *sentence) for x in context[sentence.index(bank)]]
    expected["bank_stacked"] = parameter_free(words)[1][bank]
    return expected


@derivation
def two_banks(inputs: Inputs) -> Expected:
    expected: Expected = {}
    for sense in ("money", "river"):
        words = rows(inputs["embeddings"], inputs[f"sentence_{sense}"])
        expected[f"scores_{sense}"] = dot_products(words, words)
        expected[f"weights_{sense}"], expected[f"context_{sense}"] = parameter_free(words)
    return expected


@derivation
def which_word_told_you(inputs: Inputs) -> Expected:
    expected: Expected = {}
    for sense in ("river", "rates"):
        words = rows(inputs["embeddings"], inputs[f"sentence_{sense}"])
        scores = dot_products(words, words)
        powers = [exponential(score) for score in scores[1]]  # bank is the second word of both
        weights, context = parameter_free(words)
        expected |= {
            f"scores_{sense}": scores,
            f"powers_{sense}": powers,
            f"total_{sense}": total(powers),
            f"weights_{sense}": weights,
            f"context_{sense}": context,
            f"added_{sense}": matrix_sum(words, context),
            f"average_{sense}": [mean(axis) for axis in transpose(words)],
        }
    return expected


@derivation
def average_that_drowns(inputs: Inputs) -> Expected:
    bank = inputs["embeddings"][0]
    scores = [dot(bank, word) for word in inputs["embeddings"]]
    powers = [exponential(score) for score in scores]
    names = ("total", "weight", "average", "context", "lean_average", "lean_attention", "ratio")
    expected: Expected = {"scores": scores} | {name: [] for name in names}
    for silent in inputs["silent"]:
        counts = (1, 1, silent)  # how often each of the three words stands in the sentence
        whole = dot(counts, powers)
        weights = [count * power / whole for count, power in zip(counts, powers, strict=True)]
        average = [dot(counts, axis) / (silent + 2) for axis in transpose(inputs["embeddings"])]
        context = [dot(weights, axis) for axis in transpose(inputs["embeddings"])]
        words = Words(rule="the second column of {0} minus the first")
        leans = [step("subtract", water, money, words=words) for money, water in (average, context)]
        found = (whole, powers[1] / whole, average, context, *leans, leans[1] / leans[0])
        for name, value in zip(names, found, strict=True):
            expected[name].append(value)
    return expected


@derivation
def one_sentence_without_parameters(inputs: Inputs) -> Expected:
    words = rows(inputs["embeddings"], inputs["sentence"])
    weights, context = parameter_free(words)
    return {
        "scores": dot_products(words, words),
        "weights": weights,
        "context": context,
        "added": matrix_sum(words, context),
        "average": [mean(axis) for axis in transpose(words)],
    }


@derivation
def nudges_of_one_matrix(inputs: Inputs) -> Expected:
    sentences = [rows(inputs["embeddings"], inputs[f"sentence_{s}"]) for s in ("river", "rates")]
    matrix = inputs["start"]
    found: Expected = {"heard": [], "loss": [], "gradient": []}
    for _ in range(1 + 6):  # before the first step, and after each
        heard, slopes = [], []
        for words in sentences:
            bank = words[1]
            asks = product([bank], matrix)[0]
            *others, clue = softmax([dot(asks, word, Words("score")) for word in words])
            heard.append(clue)
            # Along a score, -ln of the last weight has that weight as slope, less 1 for the last.
            toward = product([[*others, clue - 1]], words)[0]
            slopes.append([[x * slope for slope in toward] for x in bank])
        found["heard"].append(heard)
        found["loss"].append(-total([logarithm(weight) for weight in heard]))
        found["gradient"].append(matrix_sum(*slopes))
        learned = matrix
        matrix = matrix_sum(matrix, times(found["gradient"][-1], -inputs["rate"]))
    return {**found, "gradient": found["gradient"][0], "learned": learned}


@derivation
def two_banks_with_roles(inputs: Inputs) -> Expected:
    words = inputs["embeddings"]
    query, key, value = (product(words, inputs[f"w_{role}"]) for role in ("query", "key", "value"))
    expected: Expected = {"query": query, "key": key, "value": value}
    for sense in ("money", "river"):
        sentence = inputs[f"sentence_{sense}"]
        scores = dot_products(rows(query, sentence), rows(key, sentence))
        scaled_scores = divided_by_root(scores, len(key[0]))
        weights = [softmax(row) for row in scaled_scores]
        expected[f"scores_{sense}"] = scores
        expected[f"scaled_scores_{sense}"] = scaled_scores
        expected[f"weights_{sense}"] = weights
        expected[f"output_{sense}"] = product(weights, rows(value, sentence))
        expected[f"parameter_free_weights_{sense}"] = parameter_free(rows(words, sentence))[0]
    return expected


@derivation
def asks_is_found_by_gives(inputs: Inputs) -> Expected:
    query, key, value = roles(inputs, inputs["embeddings"])
    expected: Expected = {"query": query, "key": key, "value": value}
    for name in ("river", "rates", "paid", "both"):
        sentence = inputs[f"sentence_{name}"]
        scores = dot_products(rows(query, sentence), rows(key, sentence))
        scaled_scores = divided_by_root(scores, len(key[0]))
        weights = [softmax(row) for row in scaled_scores]
        output = product(weights, rows(value, sentence))
        if name in ("river", "rates"):
            expected |= {f"scores_{name}": scores, f"scaled_scores_{name}": scaled_scores}
        expected |= {
            f"weights_{name}": weights,
            f"output_{name}": output,
            f"added_{name}": matrix_sum(rows(inputs["embeddings"], sentence), output),
        }
    return expected


@derivation
def roles_of_one_word(inputs: Inputs) -> Expected:
    return {
        role: product([inputs["embedding"]], inputs[f"w_{role}"])[0]
        for role in ("query", "key", "value")
    }


@derivation
def attention_step_by_step(inputs: Inputs) -> Expected:
    query, key, value = roles(inputs, inputs["embeddings"])
    scores = dot_products(query, key)
    scaled_scores = divided_by_root(scores, len(key[0]))
    weights = weights_of(scaled_scores)
    return {
        "query": query,
        "key": key,
        "value": value,
        "scores": scores,
        "scaled_scores": scaled_scores,
        "weights": weights,
        "context": product(weights, value),
    }


@derivation
def attention_with_learned_roles(inputs: Inputs) -> Expected:
    free_weights, free_context = parameter_free(inputs["embeddings"])
    return {
        **attention_step_by_step(inputs),
        "parameter_free_weights": free_weights,
        "parameter_free_context": free_context,
    }


@derivation
def scores_and_variances(inputs: Inputs) -> Expected:
    query, key = inputs["query"], inputs["key"]
    scores = dot_products(query, key)
    # The variance of the scaled scores is that of the scores over the width: exact, without roots.
    width = len(key[0])
    return {
        "scores": scores,
        "scaled_scores": divided_by_root(scores, width),
        "variance_query": population_variance(query),
        "variance_key": population_variance(key),
        "variance_scores": population_variance(scores),
        "variance_scaled_scores": population_variance(scores) / width,
    }


@derivation
def one_phrase_under_three_matrices(inputs: Inputs) -> Expected:
    words = inputs["embeddings"]
    expected: Expected = {}
    for reading in ("free", "literal", "idiom"):
        # Without parameters the matrix between the two words is the identity.
        left = words if reading == "free" else product(words, inputs[f"bilinear_{reading}"])
        scores = dot_products(left, words)
        weights = [softmax(row) for row in scores]
        expected[f"scores_{reading}"] = scores
        expected[f"weights_{reading}"] = weights
        expected[f"context_{reading}"] = product(weights, words)
    return expected


@derivation
def attention_without_mask(inputs: Inputs) -> Expected:
    query, key, value = inputs["query"], inputs["key"], inputs["value"]
    weights = [softmax(row) for row in divided_by_root(dot_products(query, key), len(key[0]))]
    return {"weights": weights, "output": product(weights, value)}


@derivation
def softmax_at_three_temperatures(inputs: Inputs) -> Expected:
    expected: Expected = {"weights": [], "entropy": [], "optimum": []}
    for temperature in inputs["temperatures"]:
        divided = [score / temperature for score in inputs["scores"]]
        weights = softmax(divided)
        entropy = -total(p * logarithm(p) for p in weights)
        optimum = temperature * logarithm(total(exponential(score) for score in divided))
        attained = dot(weights, inputs["scores"]) + temperature * entropy
        limit = mpmath.mpf(10) ** (5 - mpmath.mp.dps)
        require(abs(attained - optimum) < limit, "the weights do not attain the optimum")
        expected["weights"].append(weights)
        expected["entropy"].append(entropy)
        expected["optimum"].append(optimum)
    return expected
