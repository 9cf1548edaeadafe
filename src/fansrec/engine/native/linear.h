// Linear layers over tiles. The epilogue is applied to the outputs: they are stored, stored after an activation, or
// added to the target.
#pragma once
#include "tiles.h"

struct Linear {
    const float *weight, *bias;  // (outputs, inputs) and (outputs)

    // Returns the layer without its first `row` outputs; `depth` is the number of inputs.
    Linear from(int64_t row, int64_t depth) const { return {weight + row * depth, bias + row}; }
};

enum class Epilogue { STORE, GELU, RELU, ADD };

// Applies the layer to tiles `first` to `last` of `in`, `depth` rows each, and writes those of `out`, `rows` rows each.
void apply(Linear layer, int64_t rows, int64_t depth, Tiles in, Tiles out, int64_t first, int64_t last,
           Epilogue epilogue = Epilogue::STORE);
