/* The rule of the generated cases in C: reads a recipe as whole numbers, prints its checksums. */
#include <stdint.h>
#include <stdio.h>

enum { NONE = 1 << 30 }; /* no limit on a side of the window */
static long seed, B, H, G, Q, K, D, V, step, sharpness, mask, hidden_first, hidden_rows, hidden_tile, bias, holes;
static long loud, level, gradients, limited, causal, offset, left, right, sequences, q_len[32], k_len[32];

static uint32_t mix(uint32_t x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}
static uint32_t word(int stream, long i) {
    return mix(mix((uint32_t)(8 * seed + stream)) + (uint32_t)i);
}
static long smaller(long x, long y) { return x < y ? x : y; }
static long larger(long x, long y) { return x > y ? x : y; }
static uint32_t key_word(long b, long g, long pattern, long column) {
    return word(1, ((b * G + g) * (K + 1) + pattern) * D + column);
}
static long times(long b, long j) { return loud && j >= K - 3 - 7 * b ? 256 : 1; }

static long target(long row, long i) {
    long s = 0, q = 0, k = 0;
    while (i >= q + q_len[s]) q += q_len[s], k += k_len[s], s++;
    long place = i - q + offset + k, low = k, high = k + k_len[s] - 1;
    if (left != NONE) low = larger(low, place - left);
    if (right != NONE) high = smaller(high, place + right);
    if (causal) high = smaller(high, place);
    long whole = K / step, first = larger(low + step - 2, 0) / step;
    /* A query that sees nothing has `high` below 0, perhaps far: its border is 0 in any case. */
    long end = high < 0 ? -1 : high == K - 1 && K - whole * step > 2 ? whole + 1 : (high + 1) / step;
    long n = first + row % larger(end - first + 1, 1);
    if (limited) n = i % 3 == 0 ? end : i % 3 == 1 ? first : n;
    n = larger(smaller(n, end), 0);
    return n > whole ? K - 1 : n * step;
}
static long query(long b, long h, long i, long c, long place) {
    if (level && c == D - 1) return 64 * 64;
    long size = sharpness + (word(2, place) >> 29);
    return key_word(b, h / (H / G), target((b * H + h) * Q + i, i), c) >> 31 ? -size : size;
}
static long key(long b, long g, long j, long c, long place) {
    long near = (j + 1) % step <= 2, pattern = near ? (j + 1) / step * step : j;
    uint32_t w = key_word(b, g, pattern, c);
    long n = near || j == K - 1 ? (w >> 31 ? -64 : 64) : 4 * ((long)(w >> 28) - 8);
    (void)place;
    return times(b, j) * (level && c == D - 1 ? -128 * 64 : n);
}
static long value(long b, long g, long j, long c, long place) {
    uint32_t w = word(3, place);
    long n = 96 + (w >> 27);
    (void)g, (void)c;
    return times(b, j) * (w >> 26 & 1 ? -n : n);
}
static long masked(long b, long h, long i, long j, long place) {
    (void)h;
    if (!(mask & 2)) return j < K - 3 - 7 * b;
    if ((i % 4 == 1 && j < hidden_first) || (hidden_rows && i % 5 == 3) || (hidden_tile && j / 16 == 1)) return 0;
    return word(4, place) >> 30 != 0;
}
static long biased(long b, long h, long i, long j, long place) {
    uint32_t w = word(5, place);
    int hidden = (w & 7) == 0 || (hidden_tile && j / 16 == 1) || (i % 4 == 1 && j < hidden_first);
    (void)b, (void)h;
    return holes && hidden ? -(1L << 31) : (long)(w >> 26) - 32;
}
static long d_output(long b, long h, long i, long c, long place) {
    (void)b, (void)h, (void)i, (void)c;
    return (long)(word(6, place) >> 26) - 32;
}
static void print(long n0, long n1, long n2, long n3, long (*make)(long, long, long, long, long)) {
    uint32_t sum = 0;
    long place = 0;
    for (long a = 0; a < n0; a++)
        for (long b = 0; b < n1; b++)
            for (long i = 0; i < n2; i++)
                for (long j = 0; j < n3; j++, place++)
                    sum += (uint32_t)(2 * place + 1) * (uint32_t)make(a, b, i, j, place);
    printf("%u\n", sum);
}
static void print_axes(long axes, long (*make)(long, long, long, long, long)) {
    print(axes & 8 ? B : 1, axes & 4 ? H : 1, axes & 2 ? Q : 1, axes & 1 ? K : 1, make);
}
int main(void) {
    long *all[] = {&seed, &B, &H, &G, &Q, &K, &D, &V, &step, &sharpness, &mask, &hidden_first,
                   &hidden_rows, &hidden_tile, &bias, &holes, &loud, &level, &gradients, &limited, &causal, &offset,
                   &left, &right, &sequences};
    for (unsigned n = 0; n < sizeof all / sizeof *all; n++)
        if (scanf("%ld", all[n]) != 1) return 1;
    for (long s = 0; s < sequences; s++)
        if (scanf("%ld %ld", &q_len[s], &k_len[s]) != 2) return 1;
    print(B, H, Q, D, query), print(B, G, K, D, key), print(B, G, K, V, value);
    if (mask) print_axes(mask, masked);
    if (bias) print_axes(bias, biased);
    if (gradients) print(B, H, Q, V, d_output);
    return 0;
}
