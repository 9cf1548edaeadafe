// Layer normalization of the columns of some tiles, in place.
#pragma once
#include <cmath>
#include "tiles.h"

struct Norm {
    const float *weight, *bias;
};

inline V square_root(V x) {
    for (int i = 0; i < W; ++i) x[i] = std::sqrt(x[i]);
    return x;
}

inline void normalize(Tiles x, int64_t rows, int64_t first, int64_t last, Norm norm) {
    constexpr float EPSILON = 1e-5f;  // the default of torch
    for (int64_t t = first; t < last; ++t) {
        float* tile = x.tile(t);
        V sums[4] = {};  // independent sums hide the latency of an addition
        for (int64_t r = 0; r < rows; ++r) sums[r % 4] += load(tile + r * W);
        V mean = (sums[0] + sums[1] + (sums[2] + sums[3])) / float(rows);
        V squares[4] = {};
        for (int64_t r = 0; r < rows; ++r) {
            V difference = load(tile + r * W) - mean;
            squares[r % 4] += difference * difference;
        }
        V variance = (squares[0] + squares[1] + (squares[2] + squares[3])) / float(rows);
        V scale = 1.0f / square_root(variance + EPSILON);
        for (int64_t r = 0; r < rows; ++r) {
            V value = (load(tile + r * W) - mean) * scale;
            store(tile + r * W, value * norm.weight[r] + norm.bias[r]);
        }
    }
}
