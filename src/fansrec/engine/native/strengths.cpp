#include "strengths.h"

#include <algorithm>

#include "logarithm.h"

namespace {

constexpr float FLOOR = 1e-3f;  // as in models/hybrid/model.py

}  // namespace

Strengths::Strengths(const Voices& voices, int64_t items)
    : voices_(voices), held_(voices.memory ? items : 0), said_(voices.linear ? items : 0) {
    if (voices.memory) recaller_ = std::make_unique<Recaller>(*voices.memory);
    int64_t room = Runs(items).numbers() + RUN;
    items_.resize(room), scores_.resize(room);
    memory_.resize(voices.memory ? room : 0), linear_.resize(voices.linear ? room : 0);
}

void Strengths::look_up(const int64_t* given, int64_t length) {
    given_ = given, length_ = length;
    if (voices_.memory) recaller_->look_up(given, length);
}

void Strengths::listen(int64_t part) {
    if (part == 0 && voices_.memory) recaller_->hold(held_);
    if (part == 1 && voices_.linear) ask(*voices_.linear, given_, length_, said_);
}

// Brings together the items for which something was said, none of those given, and cleans up.
void Strengths::finish() {
    for (int64_t i = 0; i < length_; ++i) {
        if (voices_.memory) held_.of[given_[i]] = 0;
        if (voices_.linear) said_.of[given_[i]] = 0;
    }
    if (voices_.memory && voices_.linear) held_.runs.add(said_.runs);
    count_ = 0;
    (voices_.memory ? held_.runs : said_.runs).take([&](int64_t first) { bring(first); });
    std::fill(scores_.begin(), scores_.begin() + count_, 0.0f);
    if (voices_.memory) add(memory_, voices_.memory_weight);
    if (voices_.linear) add(linear_, voices_.linear_weight);
}

// Those of one run.
void Strengths::bring(int64_t first) {
    unsigned bits = 0;
    if (voices_.memory) bits |= above(&held_.of[first], 0);
    if (voices_.linear) bits |= above(&said_.of[first], 0);
    if (voices_.memory) {
        pack(&held_.of[first], bits, &memory_[count_]);
        std::memset(&held_.of[first], 0, RUN * sizeof(float));
    }
    if (voices_.linear) {
        float* to = &linear_[count_];
        for (unsigned left = bits; left; left &= left - 1) *to++ = float(said_.of[first + __builtin_ctz(left)]);
        std::memset(&said_.of[first], 0, RUN * sizeof(double));
    }
    pack_numbers(first, bits, &items_[count_]);
    count_ += __builtin_popcount(bits);
}

// The logarithm of each strength, of which the strongest is 1, times a weight; nothing for what was said against an
// item.
void Strengths::add(const std::vector<float>& strengths, double weight) {
    V most = V{};
    int64_t whole = count_ / W * W;
    for (int64_t i = 0; i < whole; i += W) most = larger(most, load(&strengths[i]));
    float strongest = largest(most);
    for (int64_t i = whole; i < count_; ++i) strongest = std::max(strongest, strengths[i]);
    if (strongest <= 0) return;
    float scale = 1 / (strongest * FLOOR);
    for (int64_t i = 0; i < count_; i += W) {  // there is room behind the last
        V strength = larger(load(&strengths[i]) * scale, V{});
        store(&scores_[i], load(&scores_[i]) + float(weight) * log1p(strength));
    }
}
