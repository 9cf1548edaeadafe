// Linear layers over tiles, and layer normalization. The epilogue of a linear layer is applied to its outputs: they are
// stored, stored after an activation, or added to the target.
#pragma once
#include "tiles.h"

// A linear layer: (outputs, inputs) and (outputs); or a layer normalization: (rows) each.
struct Affine {
    const float *weight, *bias;

    // Returns the layer without its first `row` outputs; `depth` is the number of inputs.
    Affine from(int64_t row, int64_t depth) const { return {weight + row * depth, bias + row}; }
};

enum class Epilogue { STORE, GELU, RELU, ADD };

// Applies the layer to tiles `first` to `last` of `in`, `depth` rows each, and writes those of `out`, `rows` rows each.
void apply(Affine layer, int64_t rows, int64_t depth, Tiles in, Tiles out, int64_t first, int64_t last,
           Epilogue epilogue = Epilogue::STORE);

// Normalizes the columns of tiles `first` to `last`, `rows` rows each, in place.
void normalize(Tiles x, int64_t rows, int64_t first, int64_t last, Affine norm);
