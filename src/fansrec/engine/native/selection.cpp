#include "selection.h"

#include <algorithm>

#include "checked.h"

namespace {

// Returns the bits of a word that belong to items `first` to `last`.
uint64_t bits_of_word(int64_t word, int64_t first, int64_t last) {
    uint64_t bits = ~uint64_t(0);
    if (word == first / 64) bits &= ~uint64_t(0) << (first % 64);
    if (word == last / 64) bits &= ~(~uint64_t(0) << (last % 64));
    return bits;
}

}  // namespace

Selection::Selection(const Rules& rules, int64_t items, const Request& request, Workspace& workspace)
    : rules_(&rules), request_(request), item_count_(items) {
    int64_t words = items / 64 + 1;
    blocked_ = workspace.take<uint64_t>(words);
    if (rules.blocked)
        std::copy(rules.blocked, rules.blocked + words, blocked_);
    else
        std::fill(blocked_, blocked_ + words, 0);
    if (!rules.keep_seen)
        for (int64_t i = 0; i < request.length; ++i)
            blocked_[request.items[i] / 64] |= uint64_t(1) << (request.items[i] % 64);
    items_ = workspace.take<int64_t>(count());
    scores_ = workspace.take<float>(count());
    std::fill(items_, items_ + count(), -1);
}

bool Selection::any_allowed(int64_t first, int64_t last) const {
    for (int64_t word = first / 64; word <= last / 64; ++word)
        if (~blocked_[word] & bits_of_word(word, first, last)) return true;
    return false;
}

void Selection::block_all(int64_t first, int64_t last) {
    for (int64_t word = first / 64; word <= last / 64; ++word) blocked_[word] |= bits_of_word(word, first, last);
}

void Selection::select(int64_t position, int64_t item, float score) {
    CHECK_INDEX(position, count());
    CHECK_INDEX(item, item_count_);
    items_[position] = item, scores_[position] = score;
    blocked_[item / 64] |= uint64_t(1) << (item % 64);
    if (!rules_->max_per_group) return;
    int64_t group = rules_->groups[item];
    selected_groups_.push_back(group);
    if (std::count(selected_groups_.begin(), selected_groups_.end(), group) == rules_->max_per_group)
        full_groups_.push_back(group);
}

int64_t Selection::write(int64_t* items, float* scores) const {
    int64_t written = 0;
    for (int64_t p = 0; p < count(); ++p)
        if (filled(p)) items[written] = items_[p], scores[written++] = scores_[p];
    return written;
}
