// Linear layers over strips, compiled once: outputs are stored as they are, through an activation, or added.
#pragma once
#include "strips.h"

struct Linear {
    const float *weight, *bias;  // (outputs, inputs) and (outputs)

    // From output `row` on, of a layer with `depth` inputs.
    Linear from(int64_t row, int64_t depth) const { return {weight + row * depth, bias + row}; }
};

enum class Then { STORE, GELU, RELU, ADD };

// Strips `first` to `last` of `in`, (depth) rows, to those of `out`, (rows).
void apply(Linear layer, int64_t rows, int64_t depth, Strips in, Strips out, int64_t first, int64_t last,
           Then then = Then::STORE);
