// Attention of adjacent queries, one per lane, to the keys of one list.
#pragma once
#include "tiles.h"

struct Keys {
    Tiles keys, values;   // their rows: head after head
    int64_t first, last;  // columns of the list
};

// A tile of queries, head after head, and the tile for the results. Only lanes `first` to `last` belong to the list and
// are written. Lane l attends to the keys up to column `last_key + l`, and from lane `sees_all` on to all of them.
struct Queries {
    const float* query;
    float* out;
    int first, last;
    int64_t last_key = INT64_MAX / 2;
    int sees_all = W;
};

constexpr int QUERY_TILES = ROWS == 8 ? 2 : 1;  // tiles that share the loads of keys, if there are enough registers

// Attends with `count` tiles of queries, at most QUERY_TILES; `scores` has space for QUERY_TILES * W floats per key.
void attend(const Queries* queries, int count, Keys list, int64_t heads, int64_t head_width, float* scores);
