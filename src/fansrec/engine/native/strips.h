// How activations lie in memory: in strips.
//
// W tokens (or masked positions) stand side by side, one in each lane of a vector. A matrix with R rows (the width of a
// layer) and one column a token is ceil(columns / W) strips; a strip is R rows of W floats, one after the other. So
// - a weight matrix is used as torch keeps it, (outputs, inputs) row after row: every number of it is spread over a
//   vector and multiplied with a row of a strip, and nothing has to be packed or copied when a model is opened;
// - sums over a layer's width (normalisation, softmax) are sums of whole vectors, never across lanes;
// - the sum that makes one output goes from the first input to the last, whatever stands beside it.
#pragma once
#include "simd.h"

struct Strips {
    float* data;
    int64_t stride;  // floats from one strip to the next: W times the rows that are kept together

    float* strip(int64_t s) const { return data + s * stride; }
    Strips rows_from(int64_t row) const { return {data + row * W, stride}; }
    float& at(int64_t row, int64_t column) const { return data[column / W * stride + row * W + column % W]; }
};

inline int64_t strips_for(int64_t columns) { return (columns + W - 1) / W; }

// Copy a column of `rows` numbers; between strips of any kind.
inline void copy_column(Strips from, int64_t column, Strips to, int64_t at, int64_t rows) {
    const float* source = &from.at(0, column);
    float* target = &to.at(0, at);
    for (int64_t r = 0; r < rows; ++r) target[r * W] = source[r * W];
}

// Zeros in the lanes behind the last column: whatever stood there must not turn into slow or invalid numbers.
inline void clear_behind(Strips strips, int64_t columns, int64_t rows) {
    for (int64_t c = columns; c < strips_for(columns) * W; ++c)
        for (int64_t r = 0; r < rows; ++r) strips.at(r, c) = 0;
}
