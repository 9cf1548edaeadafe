// The items selected for one list so far, and those that it may still receive.
#pragma once
#include <vector>

#include "tiles.h"

// The rules of the caller, the same for all lists of a call.
struct Rules {
    const uint64_t* blocked;  // a bit per item, or null
    const int64_t* groups;    // (items); read only if max_per_group is not 0
    int64_t max_per_group;
    double min_score;
    bool keep_seen;
    const int64_t* allowed;  // the only items that may be selected, excluded ones among them
    int64_t allowed_count;   // below 0: all items
};

// A list to continue.
struct Request {
    const int64_t* items;
    int64_t length, count;  // of the input, and of the continuation
};

class Selection {
   public:
    Selection(const Rules& rules, int64_t items, const Request& request, Workspace& workspace);

    const Rules& rules() const { return *rules_; }
    const Request& request() const { return request_; }
    int64_t count() const { return request_.count; }

    bool allowed(int64_t item) const { return !(blocked_[item / 64] >> (item % 64) & 1) && !in_full_group(item); }
    bool acceptable(float score) const {
        return score > MINUS_INFINITY && score < -MINUS_INFINITY && double(score) >= rules_->min_score;
    }
    bool any_allowed(int64_t first, int64_t last) const;
    void block_all(int64_t first, int64_t last);
    void select(int64_t position, int64_t item, float score);

    bool filled(int64_t position) const { return items_[position] >= 0; }
    int64_t item(int64_t position) const { return items_[position]; }
    float min_score() const { return float(rules_->min_score); }
    // Writes the selected items without the empty positions and returns their number.
    int64_t write(int64_t* items, float* scores) const;

   private:
    const Rules* rules_;
    Request request_;
    int64_t item_count_;
    uint64_t* blocked_;
    int64_t* items_;  // (count), -1 at empty positions
    float* scores_;
    std::vector<int64_t> selected_groups_, full_groups_;

    bool in_full_group(int64_t item) const {
        for (int64_t group : full_groups_)
            if (rules_->groups[item] == group) return true;
        return false;
    }
};
