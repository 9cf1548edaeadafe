// What one list has been given so far, and what it may still be given.
#pragma once
#include <vector>
#include "workspace.h"

// A caller's rules, the same for all lists of a call.
struct Rules {
    const uint64_t* blocked;  // a bit an item, or null
    const int64_t* groups;    // of every item; looked at only where max_per_group is not 0
    int64_t max_per_group;
    double min_score;
    bool keep_seen;
};

class Picks {
   public:
    Picks(const Rules& rules, int64_t items, const int64_t* given, int64_t given_count, int64_t wanted,
          Workspace& room);

    bool allowed(int64_t item) const { return !(blocked_[item / 64] >> (item % 64) & 1) && !of_full_group(item); }
    bool good_enough(float score) const {
        return score > MINUS_INFINITY && score < -MINUS_INFINITY && double(score) >= rules_->min_score;
    }
    bool any_left(int64_t first, int64_t last) const;
    void block_all(int64_t first, int64_t last);
    void put(int64_t position, int64_t item, float score);

    bool filled(int64_t position) const { return items_[position] >= 0; }
    int64_t item(int64_t position) const { return items_[position]; }
    float min_score() const { return float(rules_->min_score); }
    int64_t wanted() const { return wanted_; }
    // Without the positions that got nothing; gives how many items there are.
    int64_t write(int64_t* items, float* scores) const;

   private:
    const Rules* rules_;
    int64_t known_, wanted_;
    uint64_t* blocked_;
    int64_t* items_;  // (wanted), -1 where there is none
    float* scores_;
    std::vector<int64_t> taken_groups_, full_groups_;

    bool of_full_group(int64_t item) const {
        for (int64_t group : full_groups_)
            if (rules_->groups[item] == group) return true;
        return false;
    }
};
