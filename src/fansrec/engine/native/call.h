// A call from Python, and how it is shared out: in batches of lists, one a thread, or one list among all threads.
#pragma once
#include <functional>
#include "models.h"

struct Call {
    int64_t way, threads, lists;
    const int64_t *items, *offsets, *wanted;  // list i is items[offsets[i]] to items[offsets[i + 1]]
    int64_t excluded_count, allowed_count;    // allowed_count < 0: everything is
    const int64_t *excluded, *allowed, *groups;
    int64_t max_per_group, keep_seen;
    double min_score;
    int64_t* answers;  // list after list, wanted[i] places each
    float* scores;
    int64_t* answered;  // how many each got
};

enum Outcome : int { DONE, UNKNOWN_ITEM, NO_MEMORY, BAD_CALL, BAD_MODEL };

using Answer = std::function<void(Batch& batch, Workspace& room, const Crew& crew)>;

// Checks a call, runs `answer` over all its lists and writes down what they were given.
Outcome answer_call(const Call& call, int64_t items, const Answer& answer);
