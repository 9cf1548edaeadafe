// The selection of items for models that compute one score for every item of the catalog.
//
// `Scores` has compute(input, length), scores() and count(), the number of items.
#pragma once
#include "comparisons.h"
#include "models.h"
#include "shortlist.h"

// Selects the best items by the scores after the input.
template <class Scores>
void select_best(Scores& scores, Selection& selection, std::vector<uint64_t>& bits) {
    scores.compute(selection.request().items, selection.request().length);
    Shortlist shortlist(selection, bits, MINUS_INFINITY);
    visit_high(scores.scores(), scores.count(), [&] { return shortlist.floor(); },
               [&](int64_t item) { shortlist.offer(item, scores.scores()[item]); });
    shortlist.select();
}

// Selects item by item: each is appended to the list before the next one is scored.
template <class Scores>
void select_steps(Scores& scores, Selection& selection) {
    const Request& request = selection.request();
    std::vector<int64_t> list(request.items, request.items + request.length);
    for (int64_t position = 0; position < selection.count(); ++position) {
        scores.compute(list.data(), int64_t(list.size()));
        int64_t best = -1;
        float highest = MINUS_INFINITY;
        visit_high(scores.scores(), scores.count(), [&] { return highest; }, [&](int64_t item) {
            float score = scores.scores()[item];
            if (!(score > highest) || !selection.allowed(item) || !selection.acceptable(score)) return;
            best = item, highest = score;  // of equal scores the first one
        });
        if (best < 0) return;
        selection.select(position, best, highest);
        list.push_back(best);
    }
}

template <class Scores>
void continue_scored(Scores& scores, Batch& batch, bool steps) {
    std::vector<uint64_t> bits(scores.count() / 64 + 1);
    for (Selection& selection : batch)
        if (steps)
            select_steps(scores, selection);
        else
            select_best(scores, selection, bits);
}
