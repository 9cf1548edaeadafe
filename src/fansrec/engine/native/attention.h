// Attention of neighbouring queries, one a lane, to the keys of one list.
#pragma once
#include "strips.h"

struct Keys {
    Strips keys, values;  // the rows of both: head after head
    int64_t first, last;  // columns of the list
};

// A strip of queries, head after head, and where its outcome goes. Lanes `first` to `last` ask, only they are written,
// and lane l sees the keys up to column `sees + l`.
struct Queries {
    const float* query;
    float* out;
    int first, last;
    int64_t sees = INT64_MAX / 2;
};

constexpr int QUERIES_AT_ONCE = ROWS == 8 ? 2 : 1;  // strips that share the reading of keys, if registers suffice

// `count` strips, at most QUERIES_AT_ONCE; `scores` is room for QUERIES_AT_ONCE * W floats a key.
void attend(const Queries* asked, int count, Keys list, int64_t heads, int64_t head_width, float* scores);
