// The linear part of the hybrid model (models/hybrid/model.py): sums of a few rows of item-item weights.
#pragma once
#include "sparse_sums.h"

struct LinearPart {
    const int32_t* items;       // (items, width): the items that the weights of a row belong to
    const float* weights;       // (items, width): 0 where a row has fewer weights
    int64_t width, vocabulary;  // weights per row, and number of items
    double decay;
};

// Adds the rows of the input items, weighted by recency, to `sums`.
void add_linear_scores(const LinearPart& linear, const int64_t* input, int64_t length, SparseSums<double>& sums);
