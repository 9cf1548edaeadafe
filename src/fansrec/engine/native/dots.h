// Dot products of a few vectors with many items, when the vectors are too few to fill the lanes of a tile: here the
// lanes run along the width, and the sums across lanes are computed for W items together.
#pragma once
#include "simd.h"

#if defined(__clang__)
// Returns the sums of v[0] ... v[W - 1], one in each lane.
inline V sums_across(V* v) {
    V out;
    for (int i = 0; i < W; ++i) {
        float sum = 0;
        for (int l = 0; l < W; ++l) sum += v[i][l];
        out[i] = sum;
    }
    return out;
}
#else
// Adds pairs of lanes that are HALF apart; runs of HALF lanes of the result come alternately from a and from b.
template <int HALF>
inline __attribute__((always_inline)) V folded(V a, V b) {
    VI low, high;
    for (int l = 0; l < W; ++l) {
        int from = (l / HALF % 2 ? W : 0) + l / (2 * HALF) * (2 * HALF) + l % HALF;
        low[l] = from, high[l] = from + HALF;
    }
    return __builtin_shuffle(a, b, low) + __builtin_shuffle(a, b, high);
}

template <int HALF>
inline __attribute__((always_inline)) void fold(V* v) {
#pragma GCC unroll 16
    for (int i = 0; i < HALF; ++i) v[i] = folded<HALF>(v[i], v[i + HALF]);
    if constexpr (HALF > 1) fold<HALF / 2>(v);
}

// Returns the sums of v[0] ... v[W - 1], one in each lane.
inline __attribute__((always_inline)) V sums_across(V* v) {
    fold<W / 2>(v);
    return v[0];
}
#endif

// Computes the dot products of P vectors (rows of `depth` floats) with W items, of which `rows` exist; the others are
// read as the last one. `ahead`, unless it is 0, is the distance in floats to prefetch: hardware prefetching stops at
// the end of a page, which holds sixteen items of the usual width, and between the products a prefetch is free.
template <int P, int DEPTH>
inline __attribute__((always_inline)) void dots_of(
    const float* vectors, const float* items, int64_t rows, int64_t any_depth, int64_t ahead, V* out) {
    const int64_t depth = DEPTH ? DEPTH : any_depth, whole = depth / W * W;
    V sums[P][W];
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) {
        const float* item = items + (i < rows ? i : rows - 1) * depth;
        V sum[P] = {};
        if (ahead)
            for (int64_t d = 0; d < depth; d += 16) __builtin_prefetch(item + ahead + d, 0, 2);
#pragma GCC unroll 16
        for (int64_t d = 0; d < whole; d += W) {
            V part = load(item + d);
            for (int p = 0; p < P; ++p) sum[p] += part * load(vectors + p * depth + d);
        }
        for (int64_t d = whole; d < depth; ++d)
            for (int p = 0; p < P; ++p) sum[p][0] += item[d] * vectors[p * depth + d];
        for (int p = 0; p < P; ++p) sums[p][i] = sum[p];
    }
    for (int p = 0; p < P; ++p) out[p] = sums_across(sums[p]);
}

template <int P>
inline void dots(const float* vectors, const float* items, int64_t rows, int64_t depth, V* out, int64_t ahead = 0) {
    if (depth == 64)
        dots_of<P, 64>(vectors, items, rows, depth, ahead, out);
    else
        dots_of<P, 0>(vectors, items, rows, depth, ahead, out);
}

// The same with rounded vectors, which are stored in pairs of numbers, those of 16 items side by side (block_top_k.h).
constexpr int64_t ITEMS_AT_ONCE = 16;       // items scored together
constexpr int64_t PREFETCH_ITEMS = 48;      // distance from the items scored to those prefetched
constexpr int VECTORS = ITEMS_AT_ONCE / W;  // vectors that hold one number of each of those items

// Computes the dot products of P vectors with 16 items. Where P is small, every vector has several independent sums,
// which hide the latency of an addition.
template <int P>
inline void rounded_dots(const float* vectors, const int16_t* items, int64_t depth, V (*out)[VECTORS]) {
    constexpr int SUMS = P * VECTORS >= 8 ? 1 : P * VECTORS >= 4 ? 2 : 4;
    V sum[SUMS][P][VECTORS] = {};
    // Adds the products of number d, which is even, or of the one after it (HALF 1).
    auto add = [&](auto half, int64_t d, int s) __attribute__((always_inline)) {
        constexpr int HALF = decltype(half)::value;
        V item[VECTORS];
        for (int i = 0; i < VECTORS; ++i) item[i] = load_half<HALF>(items + d * ITEMS_AT_ONCE + i * 2 * W);
#pragma GCC unroll 8
        for (int p = 0; p < P; ++p)
            for (int i = 0; i < VECTORS; ++i) sum[s][p][i] += vectors[p * depth + d + HALF] * item[i];
    };
    std::integral_constant<int, 0> first;
    std::integral_constant<int, 1> second;
    int64_t d = 0;
    for (; d + 4 <= depth; d += 4) {
        __builtin_prefetch(items + PREFETCH_ITEMS * depth + d * ITEMS_AT_ONCE, 0, 2);
        __builtin_prefetch(items + PREFETCH_ITEMS * depth + (d + 2) * ITEMS_AT_ONCE, 0, 2);
        add(first, d, 0), add(second, d, 1 % SUMS);
        add(first, d + 2, 2 % SUMS), add(second, d + 2, 3 % SUMS);
    }
    for (; d < depth; d += 2) {
        add(first, d, 0);
        if (d + 1 < depth) add(second, d, 0);
    }
    for (int p = 0; p < P; ++p)
        for (int i = 0; i < VECTORS; ++i) {
            for (int s = 1; s < SUMS; ++s) sum[0][p][i] += sum[s][p][i];
            out[p][i] = sum[0][p][i];
        }
}

// Returns the dot product of two vectors.
inline float dot(const float* a, const float* b, int64_t depth) {
    V sums[4] = {};
    int64_t d = 0;
    for (; d + 4 * W <= depth; d += 4 * W)
        for (int i = 0; i < 4; ++i) sums[i] += load(a + d + i * W) * load(b + d + i * W);
    V lanes = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    float sum = 0;
    for (int l = 0; l < W; ++l) sum += lanes[l];
    for (; d < depth; ++d) sum += a[d] * b[d];
    return sum;
}
