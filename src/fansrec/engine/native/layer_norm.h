// Layer normalisation of every column of some strips, in place.
#pragma once
#include <cmath>
#include "strips.h"

struct Norm {
    const float *weight, *bias;
};

inline V square_root(V x) {
    for (int i = 0; i < W; ++i) x[i] = std::sqrt(x[i]);
    return x;
}

inline void normalise(Strips x, int64_t rows, int64_t first, int64_t last, Norm norm) {
    constexpr float EPSILON = 1e-5f;  // torch's
    for (int64_t s = first; s < last; ++s) {
        float* strip = x.strip(s);
        V sums[4] = {};  // several, since one addition would have to wait for the other
        for (int64_t r = 0; r < rows; ++r) sums[r % 4] += load(strip + r * W);
        V mean = (sums[0] + sums[1] + (sums[2] + sums[3])) / float(rows);
        V squares[4] = {};
        for (int64_t r = 0; r < rows; ++r) {
            V apart = load(strip + r * W) - mean;
            squares[r % 4] += apart * apart;
        }
        V variance = (squares[0] + squares[1] + (squares[2] + squares[3])) / float(rows);
        V scale = 1.0f / square_root(variance + EPSILON);
        for (int64_t r = 0; r < rows; ++r) {
            V value = (load(strip + r * W) - mean) * scale;
            store(strip + r * W, value * norm.weight[r] + norm.bias[r]);
        }
    }
}
