#include "shortlist.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

Shortlist::Shortlist(Selection& selection, const int64_t* groups, int64_t max_per_group, std::vector<uint64_t>& bits)
    : selection_(selection),
      groups_(groups),
      max_per_group_(max_per_group),
      bits_(bits),
      capacity_(4 * selection.count() + 64),
      floor_(std::max(0.0f, selection.min_score())) {
    keys_.reserve(capacity_);
}

// An item that better ones push out of the full list or group stays out, whatever is offered later.
void Shortlist::prune() {
    std::sort(keys_.begin(), keys_.end(), std::greater<uint64_t>());
    std::unordered_map<int64_t, int64_t> selected;  // by group
    size_t kept = 0;
    for (size_t i = 0; i < keys_.size() && int64_t(kept) < selection_.count(); ++i) {
        int64_t it = item(keys_[i]);
        uint64_t& word = bits_[it / 64];
        if (word >> (it % 64) & 1) continue;  // the same item with a lower score
        if (max_per_group_ && ++selected[groups_[it]] > max_per_group_) continue;
        word |= uint64_t(1) << (it % 64);
        keys_[kept++] = keys_[i];
    }
    keys_.resize(kept);
    for (uint64_t key : keys_) bits_[item(key) / 64] = 0;
    if (int64_t(kept) == selection_.count()) floor_ = score(keys_.back());
}

void Shortlist::select() {
    prune();
    for (size_t p = 0; p < keys_.size(); ++p) selection_.select(int64_t(p), item(keys_[p]), score(keys_[p]));
}
