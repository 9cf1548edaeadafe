// From what is known at masked positions to items: the two-stage classifier of FANS (models/layers/two_stage.py). The vanilla
// classifier is the same with one category that need not be chosen.
#pragma once
#include <vector>
#include "contest.h"
#include "crew.h"
#include "encoder.h"
#include "picks.h"

struct Head {
    int64_t items, categories, width;
    const int64_t* starts;  // category c is items starts[c] to starts[c + 1]
    Linear transform;       // before the category is chosen
    Norm transform_norm;
    Linear category;  // null: there is one category
    Linear local;     // (categories, width, width): before an item is chosen; null: what is known scores the items
    Norm local_norm;
    Linear item;
    const uint16_t* halves;       // of the items' vectors, category after category, or null (contest.h)
    const int64_t* half_starts;   // of each category in them
    double longest;
};

// A list that waits for items at some of its positions. Each has a column of its own, or all share the last there is.
struct Asker {
    Picks* picks;
    int64_t first_position, last_position;
    int64_t first_column, columns;

    int64_t column(int64_t position) const {
        int64_t p = position - first_position;
        return first_column + (p < columns ? p : columns - 1);
    }
};

// Position by position, the best item not taken before, of the likeliest category; those left without one are asked
// again about the next likely category, until all have been tried (decoding.by_position).
void choose_by_position(const Head& head, Strips known, int64_t columns, const std::vector<Asker>& askers,
                        Workspace& room, const Crew& crew);
