// A call from Python.
#pragma once
#include "models.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))  // a function that library.py calls

struct Call {
    int64_t mode, threads, lists;             // mode: a GenerationMode
    const int64_t *items, *offsets, *counts;  // list i: items[offsets[i]] to items[offsets[i + 1]], + counts[i] items
    int64_t excluded_count, allowed_count;    // allowed_count < 0: all items are allowed
    const int64_t *excluded, *allowed, *groups;
    int64_t max_per_group, keep_seen;
    double min_score;
    int64_t* answer_items;  // list after list, counts[i] numbers each
    float* answer_scores;
    int64_t* answer_lengths;  // (lists): how many items each list received
};

enum Outcome : int { DONE, UNKNOWN_ITEM, NO_MEMORY, BAD_CALL, BAD_MODEL };

bool is_valid(const Call& call, int64_t items);         // checks sizes, pointers and offsets
bool has_known_items(const Call& call, int64_t items);  // whether all item indices of a valid call are below `items`
