// A call from Python and its division among threads: one batch of lists per thread, or one list among all threads.
#pragma once
#include <functional>

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

using BatchFunction = std::function<void(Batch& batch, Workspace& workspace, const ThreadPool& pool)>;

// Checks a call, runs `run` on batches of its lists and writes their answers.
Outcome run_call(const Call& call, int64_t items, const BatchFunction& run);
