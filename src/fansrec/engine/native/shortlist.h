// The best items of one list among those offered, under its rules.
//
// Items come in any order, some of them twice with a lower score. When there is no more room, those are dropped that
// cannot be answered any more, whatever may still come; from then on most need not even be offered.
#pragma once
#include <cstring>
#include "picks.h"

class Shortlist {
   public:
    // `bits`: one an item, all 0; they are left so. `max_per_group` 0: as many of a group as there are.
    Shortlist(Picks& picks, const int64_t* groups, int64_t max_per_group, std::vector<uint64_t>& bits);

    int64_t wanted() const { return picks_.wanted(); }
    float floor() const { return floor_; }  // a lower score need not be offered

    void offer(int64_t item, float score) {  // scores are not below 0
        if (score < floor_ || !picks_.allowed(item) || !picks_.good_enough(score)) return;
        if (int64_t(keys_.size()) == room_) prune();
        keys_.push_back(key(item, score));
    }

    void prune();  // raises the floor
    void give();   // the list its items, best first

   private:
    Picks& picks_;
    const int64_t* groups_;
    int64_t max_per_group_;
    std::vector<uint64_t>& bits_;
    int64_t room_;
    float floor_;
    std::vector<uint64_t> keys_;

    // Higher for the better score, of equal ones for the lower item.
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
