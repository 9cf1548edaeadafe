// The product of a weight matrix, (outputs, inputs) in row-major order, with tiles of columns.
#pragma once
#include "tiles.h"

// Computes R outputs of C adjacent tiles and calls put(r, c, value) for each. A depth known at compile time (DEPTH,
// unless it is 0) saves the registers that the addresses of R rows would need. `ahead`, unless it is 0, is the distance
// in floats of the weights to prefetch. Every step prefetches a little: many prefetches at once would stall.
template <int R, int C, int DEPTH, class Put>
inline __attribute__((always_inline)) void product_kernel(
    const float* weight, const float* bias, int64_t any_depth, const float* in, int64_t stride, int64_t ahead,
    Put&& put) {
    const int64_t depth = DEPTH ? DEPTH : any_depth;
    V sum[R][C];
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) sum[r][c] = bias ? all(bias[r]) : V{};
    for (int64_t k = 0; k < depth; ++k) {
        V columns[C];
        for (int c = 0; c < C; ++c) columns[c] = load(in + c * stride + k * W);
        if (ahead) __builtin_prefetch(weight + ahead + k * R, 0, 2);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            V w = all(weight[r * depth + k]);
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) sum[r][c] += w * columns[c];
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) put(r, c, sum[r][c]);
}

// Computes all `rows` outputs of C tiles and calls put(row, c, value) for each.
template <int C, class Put>
inline void product_across(const float* weight, const float* bias, int64_t rows, int64_t depth, const float* in,
                           int64_t stride, Put&& put, int64_t ahead = 0) {
    constexpr int R = C == 1 ? 2 * ROWS : ROWS;  // enough independent sums to hide the latency of an addition
    int64_t row = 0;
    auto compute = [&](auto count, auto depth_hint) __attribute__((always_inline)) {
        constexpr int N = decltype(count)::value;
        auto put_at = [&](int r, int c, V value) __attribute__((always_inline)) { put(row + r, c, value); };
        const float* start = bias ? bias + row : nullptr;
        constexpr int DEPTH = decltype(depth_hint)::value;
        product_kernel<N, C, DEPTH>(weight + row * depth, start, depth, in, stride, ahead, put_at);
        row += N;
    };
    std::integral_constant<int, R> full;
    if (depth == 64)
        while (row + R <= rows) compute(full, std::integral_constant<int, 64>());
    else if (depth == 256)
        while (row + R <= rows) compute(full, std::integral_constant<int, 256>());
    else
        while (row + R <= rows) compute(full, std::integral_constant<int, 0>());
    while (row + 4 <= rows) compute(std::integral_constant<int, 4>(), std::integral_constant<int, 0>());
    while (row < rows) compute(std::integral_constant<int, 1>(), std::integral_constant<int, 0>());
}

// Computes tiles `first` to `last` of weight x in + bias and calls put(row, tile, value) for each W outputs.
template <class Put>
inline void product(const float* weight, const float* bias, int64_t rows, int64_t depth, Tiles in, int64_t first,
                    int64_t last, Put&& put) {
    for (int64_t t = first; t < last;) {
        auto put_at = [&](int64_t row, int c, V value) __attribute__((always_inline)) { put(row, t + c, value); };
        const float* columns = in.tile(t);
        switch (last - t) {
            case 1: product_across<1>(weight, bias, rows, depth, columns, in.stride, put_at); t += 1; break;
            case 2: product_across<2>(weight, bias, rows, depth, columns, in.stride, put_at); t += 2; break;
            case 4: product_across<2>(weight, bias, rows, depth, columns, in.stride, put_at); t += 2; break;
            default: product_across<3>(weight, bias, rows, depth, columns, in.stride, put_at); t += 3;
        }
    }
}
