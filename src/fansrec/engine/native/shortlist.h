// The best items of one list among the candidates offered, under its rules.
//
// Items are offered in any order, some of them again with a lower score. When the list is full, the items that can no
// longer be selected are dropped, which raises the floor: most later candidates need not be offered.
#pragma once
#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_map>

#include "selection.h"

class Shortlist {
   public:
    // `bits`: one per item, all 0, and 0 again after every call. Scores below `least` are not selected.
    Shortlist(Selection& selection, std::vector<uint64_t>& bits, float least)
        : selection_(selection),
          bits_(bits),
          capacity_(4 * selection.count() + 64),
          floor_(std::max(least, selection.min_score())) {
        keys_.reserve(capacity_);
    }

    int64_t count() const { return selection_.count(); }
    float floor() const { return floor_; }  // lower scores need not be offered

    void offer(int64_t item, float score) {
        if (score < floor_ || !selection_.allowed(item) || !selection_.acceptable(score)) return;
        if (int64_t(keys_.size()) == capacity_) prune();
        keys_.push_back(key(item, score));
    }

    // Drops the items that cannot be selected and raises the floor. An item that better ones push out of the full list
    // or group stays out, whatever is offered later.
    void prune() {
        const Rules& rules = selection_.rules();
        std::sort(keys_.begin(), keys_.end(), std::greater<uint64_t>());
        std::unordered_map<int64_t, int64_t> selected;  // by group
        size_t kept = 0;
        for (size_t i = 0; i < keys_.size() && int64_t(kept) < selection_.count(); ++i) {
            int64_t it = item(keys_[i]);
            uint64_t& word = bits_[it / 64];
            if (word >> (it % 64) & 1) continue;  // the same item with a lower score
            if (rules.max_per_group && ++selected[rules.groups[it]] > rules.max_per_group) continue;
            word |= uint64_t(1) << (it % 64);
            keys_[kept++] = keys_[i];
        }
        keys_.resize(kept);
        for (uint64_t key : keys_) bits_[item(key) / 64] = 0;
        if (int64_t(kept) == selection_.count()) floor_ = score(keys_.back());
    }

    // Writes the best items to the selection, best first.
    void select() {
        prune();
        for (size_t p = 0; p < keys_.size(); ++p) selection_.select(int64_t(p), item(keys_[p]), score(keys_[p]));
    }

   private:
    Selection& selection_;
    std::vector<uint64_t>& bits_;
    int64_t capacity_;
    float floor_;
    std::vector<uint64_t> keys_;

    static constexpr uint32_t SIGN = uint32_t(1) << 31;

    // A sort key: higher for the higher score; for equal scores, higher for the lower item.
    static uint64_t key(int64_t item, float score) {
        uint32_t bits;
        std::memcpy(&bits, &score, 4);
        bits = bits & SIGN ? ~bits : bits | SIGN;  // ascending with the score, also for negative ones
        return uint64_t(bits) << 32 | uint32_t(~uint32_t(item));
    }
    static int64_t item(uint64_t key) { return int64_t(uint32_t(~uint32_t(key))); }
    static float score(uint64_t key) {
        uint32_t bits = uint32_t(key >> 32);
        bits = bits & SIGN ? bits & ~SIGN : ~bits;
        float score;
        std::memcpy(&score, &bits, 4);
        return score;
    }
};
