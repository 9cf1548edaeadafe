#include "tied.h"

#include <algorithm>
#include <cmath>
#include <numeric>

Mixture::Mixture(const Tied& tied, int64_t category, Strips columns, std::vector<float> weights, Workspace& room)
    : items_(tied.item), first_(tied.starts[category]), last_(tied.starts[category + 1]), columns_(columns),
      weights_(std::move(weights)),
      contest_(tied.item, first_, last_, columns, int64_t(weights_.size()), room) {}

void Mixture::settle() {
    contest_.settle();
    for (size_t c = 0; c < weights_.size(); ++c) {
        const float* promises = contest_.promises(int64_t(c));
        V tops = all(MINUS_INFINITY);
        int64_t b = 0;
        for (; b + W <= contest_.blocks(); b += W) tops = larger(tops, load(promises + b));
        float top = largest(tops);
        for (; b < contest_.blocks(); ++b) top = std::max(top, promises[b]);
        highest_ += weights_[c] * std::exp(top - contest_.log_total(int64_t(c)));
    }
}

std::vector<float> Mixture::highest_of_blocks() const {
    std::vector<float> most(contest_.blocks());
    for (size_t c = 0; c < weights_.size(); ++c) {
        const float* promises = contest_.promises(int64_t(c));
        float total = contest_.log_total(int64_t(c));
        int64_t b = 0;
        for (; b + W <= contest_.blocks(); b += W)
            store(&most[b], load(&most[b]) + weights_[c] * exp(load(promises + b) - total));
        for (; b < contest_.blocks(); ++b) most[b] += weights_[c] * std::exp(promises[b] - total);
    }
    return most;
}

V Mixture::from(int64_t item) const {
    V mean = {};
    float scores[W];
    for (size_t c = 0; c < weights_.size(); ++c) {
        contest_.scores(item, int64_t(c), scores);
        mean += weights_[c] * exp(load(scores) - contest_.log_total(int64_t(c)));
    }
    return mean;
}

// Alone: its neighbours' vectors need not be fetched.
float Mixture::of(int64_t item) const {
    const float* vector = items_.weight + item * items_.width;
    float mean = 0;
    for (int64_t s = 0, count = int64_t(weights_.size()); s < strips_for(count); ++s) {
        V scores[4] = {all(items_.bias[item])};  // several, since one addition would have to wait for the other
        for (int64_t d = 0; d < items_.width; ++d) scores[d % 4] += vector[d] * load(columns_.strip(s) + d * W);
        V score = (scores[0] + scores[1]) + (scores[2] + scores[3]);
        for (int64_t c = s * W; c < std::min(count, (s + 1) * W); ++c)
            mean += weights_[c] * std::exp(score[c - s * W] - contest_.log_total(c));
    }
    return mean;
}

Probabilities::Probabilities(const Tied& tied, Strips known, int64_t columns, Workspace& room)
    : tied_(tied), by_list_(tied.categories, 1.0f), inside_(tied.categories) {
    int64_t D = tied.width, strips = strips_for(columns);
    Strips hidden = room.strips(D, columns), shares{nullptr, 0};
    apply(tied.transform, D, D, known, hidden, 0, strips, Then::GELU);
    normalise(hidden, D, 0, strips, tied.transform_norm);
    if (tied.category.weight) shares = by_position(hidden, columns, room);
    for (float* at = hidden.data; at < hidden.strip(strips); at += W) store(at, *tied.scale * load(at));
    for (int64_t c : likeliest()) {
        std::vector<float> weights(columns, 1.0f / float(columns));
        for (int64_t i = 0; i < columns && shares.data; ++i) weights[i] = shares.at(c, i);
        inside_[c] = std::make_unique<Mixture>(tied, c, hidden, weights, room);
        for (int64_t t = 0; t < inside_[c]->tiles(); ++t) tiles_.push_back({inside_[c].get(), t});
    }
}

void Probabilities::settle() {
    for (auto& mixture : inside_)
        if (mixture) mixture->settle();
}

// The probability of every category at every position, times the position's share; adds it up for the list.
Strips Probabilities::by_position(Strips transformed, int64_t columns, Workspace& room) {
    int64_t strips = strips_for(columns), N = tied_.categories;
    Strips out = room.strips(N, columns);
    apply(tied_.category, N, tied_.width, transformed, out, 0, strips);
    std::fill(by_list_.begin(), by_list_.end(), 0.0f);
    for (int64_t s = 0; s < strips; ++s) {
        float* at = out.strip(s);
        V top = all(MINUS_INFINITY), total = {};
        for (int64_t c = 0; c < N; ++c) top = larger(top, load(at + c * W));
        for (int64_t c = 0; c < N; ++c) {
            V power = exp(load(at + c * W) - top);
            total += power;
            store(at + c * W, power);
        }
        V share = 1.0f / (total * float(columns));
        for (int64_t c = 0; c < N; ++c) {
            store(at + c * W, load(at + c * W) * share);
            for (int64_t i = s * W; i < std::min(columns, (s + 1) * W); ++i) by_list_[c] += out.at(c, i);
        }
    }
    return out;
}

// The categories to look into: those with the highest probability, or the only one there is.
std::vector<int64_t> Probabilities::likeliest() const {
    std::vector<int64_t> order(tied_.categories);
    std::iota(order.begin(), order.end(), 0);
    int64_t asked = tied_.category.weight ? std::min(tied_.asked, tied_.categories) : tied_.categories;
    std::partial_sort(order.begin(), order.begin() + asked, order.end(), [&](int64_t a, int64_t b) {
        return by_list_[a] != by_list_[b] ? by_list_[a] > by_list_[b] : a < b;
    });
    order.resize(asked);
    return order;
}
