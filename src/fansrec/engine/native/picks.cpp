#include "picks.h"

#include <algorithm>

#include "checked.h"

namespace {

// The bits from `first` to `last` that lie in one word.
uint64_t bits_of_word(int64_t word, int64_t first, int64_t last) {
    uint64_t bits = ~uint64_t(0);
    if (word == first / 64) bits &= ~uint64_t(0) << (first % 64);
    if (word == last / 64) bits &= ~(~uint64_t(0) << (last % 64));
    return bits;
}

}  // namespace

Picks::Picks(const Rules& rules, int64_t items, const int64_t* given, int64_t given_count, int64_t wanted,
             Workspace& room)
    : rules_(&rules), known_(items), wanted_(wanted) {
    int64_t words = items / 64 + 1;
    blocked_ = room.take<uint64_t>(words);
    if (rules.blocked)
        std::copy(rules.blocked, rules.blocked + words, blocked_);
    else
        std::fill(blocked_, blocked_ + words, 0);
    if (!rules.keep_seen)
        for (int64_t i = 0; i < given_count; ++i) blocked_[given[i] / 64] |= uint64_t(1) << (given[i] % 64);
    items_ = room.take<int64_t>(wanted);
    scores_ = room.take<float>(wanted);
    std::fill(items_, items_ + wanted, -1);
}

bool Picks::any_left(int64_t first, int64_t last) const {
    for (int64_t word = first / 64; word <= last / 64; ++word)
        if (~blocked_[word] & bits_of_word(word, first, last)) return true;
    return false;
}

void Picks::block_all(int64_t first, int64_t last) {
    for (int64_t word = first / 64; word <= last / 64; ++word) blocked_[word] |= bits_of_word(word, first, last);
}

void Picks::put(int64_t position, int64_t item, float score) {
    CHECK_INDEX(position, wanted_);
    CHECK_INDEX(item, known_);
    items_[position] = item, scores_[position] = score;
    blocked_[item / 64] |= uint64_t(1) << (item % 64);
    if (!rules_->max_per_group) return;
    int64_t group = rules_->groups[item];
    taken_groups_.push_back(group);
    if (std::count(taken_groups_.begin(), taken_groups_.end(), group) == rules_->max_per_group)
        full_groups_.push_back(group);
}

int64_t Picks::write(int64_t* items, float* scores) const {
    int64_t count = 0;
    for (int64_t p = 0; p < wanted_; ++p)
        if (filled(p)) items[count] = items_[p], scores[count++] = scores_[p];
    return count;
}
