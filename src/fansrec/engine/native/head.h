// From hidden states of masked positions to items: the two-stage classifier of FANS (models/fans.py). The
// vanilla classifier is the same with a single category.
#pragma once
#include <vector>

#include "block_top_k.h"
#include "encoder.h"
#include "selection.h"

struct Head {
    int64_t items, categories, width;
    const int64_t* starts;  // category c is items starts[c] to starts[c + 1]
    Affine transform, transform_norm;  // applied before the category classifier
    Affine category;                   // null: there is one category
    Affine local, local_norm;          // of each category, applied before the item classifier; null: not applied
    Affine item;
    RoundedVectors rounded;
};

// Positions of a list that are to be filled. Each has a column of hidden states; those beyond the last column share it.
struct PositionRange {
    Selection* selection;
    int64_t first_position, last_position;
    int64_t first_column, columns;

    int64_t column(int64_t position) const {
        int64_t p = position - first_position;
        return first_column + (p < columns ? p : columns - 1);
    }
};

// Fills position by position with the best item that is still allowed, of the likeliest category. Positions without
// such an item try the next category, until all have been tried (engine/decoding/selection.py).
void select_by_position(const Head& head, Tiles hidden, int64_t columns, const std::vector<PositionRange>& ranges,
                        Workspace& workspace, const ThreadPool& pool);
