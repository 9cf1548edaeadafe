// Dot products of a few vectors with items in fp16, whose vectors are stored 16 items side by side (block_top_k.h).
#pragma once
#include "simd.h"

constexpr int64_t ITEMS_AT_ONCE = 16;       // items scored together
constexpr int64_t PREFETCH_ITEMS = 48;      // distance from the items scored to those prefetched
constexpr int VECTORS = ITEMS_AT_ONCE / W;  // vectors that hold one number of each of those items

// Computes the scores of 16 items at P positions. Where P is small, every position has several independent sums, which
// hide the latency of an addition.
template <int P>
inline void half_dots(const float* vectors, const uint16_t* items, int64_t depth, V (*out)[VECTORS]) {
    constexpr int SUMS = P * VECTORS >= 8 ? 1 : P * VECTORS >= 4 ? 2 : 4;
    V sum[SUMS][P][VECTORS] = {};
    auto add = [&](int64_t d, int s) __attribute__((always_inline)) {
        V item[VECTORS];
        for (int i = 0; i < VECTORS; ++i) item[i] = load(items + d * ITEMS_AT_ONCE + i * W);
#pragma GCC unroll 8
        for (int p = 0; p < P; ++p)
            for (int i = 0; i < VECTORS; ++i) sum[s][p][i] += vectors[p * depth + d] * item[i];
    };
    int64_t d = 0;
    for (; d + 4 <= depth; d += 4) {
        __builtin_prefetch(items + PREFETCH_ITEMS * depth + d * ITEMS_AT_ONCE, 0, 2);
        __builtin_prefetch(items + PREFETCH_ITEMS * depth + (d + 2) * ITEMS_AT_ONCE, 0, 2);
#pragma GCC unroll 4
        for (int s = 0; s < 4; ++s) add(d + s, s % SUMS);
    }
    for (; d < depth; ++d) add(d, 0);
    for (int p = 0; p < P; ++p)
        for (int i = 0; i < VECTORS; ++i) {
            for (int s = 1; s < SUMS; ++s) sum[0][p][i] += sum[s][p][i];
            out[p][i] = sum[0][p][i];
        }
}
