// The best items of one list among the candidates offered, under its rules.
//
// Items are offered in any order, some of them again with a lower score. When the list is full, the items that can no
// longer be selected are dropped, which raises the floor: most later candidates need not be offered.
#pragma once
#include <cstring>

#include "selection.h"

class Shortlist {
   public:
    // `bits`: one per item, all 0, and 0 again after every call. `max_per_group` 0: no limit.
    Shortlist(Selection& selection, const int64_t* groups, int64_t max_per_group, std::vector<uint64_t>& bits);

    int64_t count() const { return selection_.count(); }
    float floor() const { return floor_; }  // lower scores need not be offered

    void offer(int64_t item, float score) {  // scores must not be negative
        if (score < floor_ || !selection_.allowed(item) || !selection_.acceptable(score)) return;
        if (int64_t(keys_.size()) == capacity_) prune();
        keys_.push_back(key(item, score));
    }

    void prune();   // drops the items that cannot be selected and raises the floor
    void select();  // writes the best items to the selection, best first

   private:
    Selection& selection_;
    const int64_t* groups_;
    int64_t max_per_group_;
    std::vector<uint64_t>& bits_;
    int64_t capacity_;
    float floor_;
    std::vector<uint64_t> keys_;

    // A sort key: higher for the higher score; for equal scores, higher for the lower item.
    static uint64_t key(int64_t item, float score) {
        uint32_t bits;
        std::memcpy(&bits, &score, 4);
        return uint64_t(bits) << 32 | uint32_t(~uint32_t(item));
    }
    static int64_t item(uint64_t key) { return int64_t(uint32_t(~uint32_t(key))); }
    static float score(uint64_t key) {
        uint32_t bits = uint32_t(key >> 32);
        float score;
        std::memcpy(&score, &bits, 4);
        return score;
    }
};
