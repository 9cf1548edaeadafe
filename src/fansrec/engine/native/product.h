// The product of a weight matrix (outputs, inputs), row after row as torch keeps it, with strips of columns.
#pragma once
#include "strips.h"

// R outputs of C neighbouring strips; put(r, c, value) gets each. A depth known beforehand (DEPTH, unless it is 0)
// spares the registers that R rows at a distance known only later would need. With `ahead`, memory is asked for the
// weights so many floats further on, a little with every step: asked for all at once, it would be waited for.
template <int R, int C, int DEPTH, class Put>
inline __attribute__((always_inline)) void tile(
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

// All `rows` outputs of C strips; put(row, c, value).
template <int C, class Put>
inline void product_across(const float* weight, const float* bias, int64_t rows, int64_t depth, const float* in,
                           int64_t stride, Put&& put, int64_t ahead = 0) {
    constexpr int R = C == 1 ? 2 * ROWS : ROWS;  // enough sums at once to hide how long one addition takes
    int64_t row = 0;
    auto some = [&](auto count, auto known) __attribute__((always_inline)) {
        constexpr int N = decltype(count)::value;
        auto here = [&](int r, int c, V value) __attribute__((always_inline)) { put(row + r, c, value); };
        const float* start = bias ? bias + row : nullptr;
        tile<N, C, decltype(known)::value>(weight + row * depth, start, depth, in, stride, ahead, here);
        row += N;
    };
    std::integral_constant<int, R> most;
    if (depth == 64)
        while (row + R <= rows) some(most, std::integral_constant<int, 64>());
    else if (depth == 256)
        while (row + R <= rows) some(most, std::integral_constant<int, 256>());
    else
        while (row + R <= rows) some(most, std::integral_constant<int, 0>());
    while (row + 4 <= rows) some(std::integral_constant<int, 4>(), std::integral_constant<int, 0>());
    while (row < rows) some(std::integral_constant<int, 1>(), std::integral_constant<int, 0>());
}

// Strips `first` to `last` of weight x in + bias; put(row, strip, value) gets W outputs at a time.
template <class Put>
inline void product(const float* weight, const float* bias, int64_t rows, int64_t depth, Strips in, int64_t first,
                    int64_t last, Put&& put) {
    for (int64_t s = first; s < last;) {
        auto here = [&](int64_t row, int c, V value) __attribute__((always_inline)) { put(row, s + c, value); };
        const float* columns = in.strip(s);
        switch (last - s) {
            case 1: product_across<1>(weight, bias, rows, depth, columns, in.stride, here); s += 1; break;
            case 2: product_across<2>(weight, bias, rows, depth, columns, in.stride, here); s += 2; break;
            case 4: product_across<2>(weight, bias, rows, depth, columns, in.stride, here); s += 2; break;
            default: product_across<3>(weight, bias, rows, depth, columns, in.stride, here); s += 3;
        }
    }
}

// The commonest use: store what `finish` makes of each output.
template <class Finish>
inline void product_into(Strips out, const float* weight, const float* bias, int64_t rows, int64_t depth, Strips in,
                         int64_t first, int64_t last, Finish&& finish) {
    product(weight, bias, rows, depth, in, first, last,
            [&](int64_t row, int64_t s, V value) __attribute__((always_inline)) {
                store(out.strip(s) + row * W, finish(value));
            });
}

// What an output may become; as types, so that they are compiled into the product.
struct AsItIs {
    V operator()(V x) const { return x; }
};
struct Gelu {
    V operator()(V x) const { return gelu(x); }
};
struct Relu {
    V operator()(V x) const { return larger(x, V{}); }
};
