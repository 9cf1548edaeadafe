// The memory layout of activations: tiles of W columns.
//
// A matrix with R rows (the width of a layer) and one column per token or masked position consists of
// ceil(columns / W) tiles. A tile holds W columns, one in each lane of a vector: R rows of W floats, row after row. So
// - a weight matrix is used as torch stores it, (outputs, inputs) in row-major order: each weight is broadcast to a
//   vector and multiplied with a row of a tile, and nothing has to be packed or copied when a model is loaded;
// - sums over the width of a layer (layer norm, softmax) are sums of whole vectors, never across lanes;
// - the sum of an output runs from the first input to the last, whatever the other columns of the tile hold.
#pragma once
#include "simd.h"

struct Tiles {
    float* data;
    int64_t stride;  // floats from one tile to the next: W times the rows that are stored together

    float* tile(int64_t t) const { return data + t * stride; }
    Tiles rows_from(int64_t row) const { return {data + row * W, stride}; }
    float& at(int64_t row, int64_t column) const { return data[column / W * stride + row * W + column % W]; }
};

inline int64_t tiles_for(int64_t columns) { return (columns + W - 1) / W; }

// Copies column `column` of `from`, `rows` numbers, to column `at` of `to`.
inline void copy_column(Tiles from, int64_t column, Tiles to, int64_t at, int64_t rows) {
    const float* source = &from.at(0, column);
    float* target = &to.at(0, at);
    for (int64_t r = 0; r < rows; ++r) target[r * W] = source[r * W];
}

// Sets the unused lanes of the last tile to zero: old contents could be denormal (slow) or not numbers.
inline void clear_padding(Tiles tiles, int64_t columns, int64_t rows) {
    for (int64_t c = columns; c < tiles_for(columns) * W; ++c)
        for (int64_t r = 0; r < rows; ++r) tiles.at(r, c) = 0;
}
