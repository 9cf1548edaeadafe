// The hybrid model as the caller describes it (structures.py): network, list memory, linear part and mixture weights.
#pragma once
#include "models.h"
#include "sparse_scores.h"
#include "tied_classifier.h"

struct Hybrid {
    const Model* model;  // its tokens and its encoder; the head holds the number of items only
    TiedClassifier tied;
    SparseParts parts;
    double network_weight;
};
