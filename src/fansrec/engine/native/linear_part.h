// What the linear part of --recipe best says: sums of a few rows of item-item weights (models/hybrid/linear_part.py).
#pragma once
#include "sums.h"

struct LinearPart {
    const int32_t* items;  // (items, width): where the weights of an item go
    const float* weights;  // (items, width): 0 where it has fewer
    int64_t width, vocabulary;  // weights of an item, and items
    double decay;
};

void ask(const LinearPart& linear, const int64_t* given, int64_t length, Sums<double>& said);
