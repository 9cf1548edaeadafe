#include "tied_classifier.h"

#include <algorithm>
#include <cmath>
#include <numeric>

CategoryProbabilities::CategoryProbabilities(const TiedClassifier& tied, int64_t category, Tiles columns,
                                             std::vector<float> weights, Workspace& workspace)
    : items_(tied.item, tied.width, tied.rounded, category),
      first_(tied.starts[category]),
      last_(tied.starts[category + 1]),
      columns_(columns),
      weights_(std::move(weights)),
      scores_(items_, first_, last_, columns, int64_t(weights_.size()), Rounding::ITEMS, workspace) {}

void CategoryProbabilities::finish() {
    scores_.finish();
    for (size_t c = 0; c < weights_.size(); ++c) {
        scores_.correct_log_sum(int64_t(c));
        highest_ += weights_[c] * std::exp(scores_.highest_bound(int64_t(c)) - scores_.log_sum(int64_t(c)));
    }
}

// Returns an upper bound of the probabilities of every block.
std::vector<float> CategoryProbabilities::highest_of_blocks() const {
    std::vector<float> highest(scores_.blocks());
    for (size_t c = 0; c < weights_.size(); ++c) {
        const float* bounds = scores_.bounds(int64_t(c));
        float total = scores_.log_sum(int64_t(c));
        int64_t b = 0;
        for (; b + W <= scores_.blocks(); b += W)
            store(&highest[b], load(&highest[b]) + weights_[c] * exp(load(bounds + b) - total));
        for (; b < scores_.blocks(); ++b) highest[b] += weights_[c] * std::exp(bounds[b] - total);
    }
    return highest;
}

// Returns the probabilities of W items from `item` on.
V CategoryProbabilities::from(int64_t item) const {
    V mean = {};
    float scores[W];
    for (size_t c = 0; c < weights_.size(); ++c) {
        scores_.scores(item, int64_t(c), scores);
        mean += weights_[c] * exp(load(scores) - scores_.log_sum(int64_t(c)));
    }
    return mean;
}

// Returns the probability of a single item, without loading the vectors of those beside it.
float CategoryProbabilities::of(int64_t item) const {
    const float* vector = items_.weight + item * items_.width;
    float mean = 0;
    for (int64_t t = 0, count = int64_t(weights_.size()); t < tiles_for(count); ++t) {
        V scores[4] = {all(items_.bias[item])};  // independent sums hide the latency of an addition
        for (int64_t d = 0; d < items_.width; ++d) scores[d % 4] += vector[d] * load(columns_.tile(t) + d * W);
        V score = (scores[0] + scores[1]) + (scores[2] + scores[3]);
        V probabilities = exp(score - load(scores_.log_sums() + t * W));
        for (int64_t c = t * W; c < std::min(count, (t + 1) * W); ++c) mean += weights_[c] * probabilities[c - t * W];
    }
    return mean;
}

NetworkProbabilities::NetworkProbabilities(const TiedClassifier& tied, Tiles hidden,
                                           const std::vector<float>& inverse_weights, Workspace& workspace)
    : tied_(tied), by_list_(tied.categories, 1.0f), read_(tied.categories) {
    int64_t columns = int64_t(inverse_weights.size());
    Tiles transformed = transform(hidden, columns, workspace), shares{nullptr, 0};
    if (tied.category.weight) shares = by_position(transformed, inverse_weights, workspace);
    for (float* at = transformed.data; at < transformed.tile(tiles_for(columns)); at += W)
        store(at, *tied.scale * load(at));
    for (int64_t c : likeliest()) {
        std::vector<float> weights(columns);
        for (int64_t i = 0; i < columns; ++i) weights[i] = shares.data ? shares.at(c, i) : 1.0f / inverse_weights[i];
        read_[c] = std::make_unique<CategoryProbabilities>(tied, c, transformed, weights, workspace);
        for (int64_t t = 0; t < read_[c]->chunks(); ++t) chunks_.push_back({read_[c].get(), t});
    }
}

void NetworkProbabilities::finish() {
    for (auto& category : read_)
        if (category) category->finish();
}

// Returns the vectors that are compared with those of categories and items.
Tiles NetworkProbabilities::transform(Tiles hidden, int64_t columns, Workspace& workspace) const {
    int64_t D = tied_.width, tiles = tiles_for(columns);
    Tiles out = workspace.tiles(D, columns);
    if (!tied_.transform.weight) {
        std::copy(hidden.data, hidden.tile(tiles), out.data);
        return out;
    }
    apply(tied_.transform, D, D, hidden, out, 0, tiles, Epilogue::GELU);
    normalize(out, D, 0, tiles, tied_.transform_norm);
    return out;
}

// Returns the probability of every category at every position times the weight of the position, and adds them up in
// by_list_.
Tiles NetworkProbabilities::by_position(Tiles transformed, const std::vector<float>& inverse_weights,
                                        Workspace& workspace) {
    int64_t columns = int64_t(inverse_weights.size()), tiles = tiles_for(columns), N = tied_.categories;
    Tiles out = workspace.tiles(N, columns);
    apply(tied_.category, N, tied_.width, transformed, out, 0, tiles);
    std::fill(by_list_.begin(), by_list_.end(), 0.0f);
    for (int64_t t = 0; t < tiles; ++t) {
        float* at = out.tile(t);
        V top = all(MINUS_INFINITY), total = {};
        for (int64_t c = 0; c < N; ++c) top = larger(top, load(at + c * W));
        for (int64_t c = 0; c < N; ++c) {
            V exponential = exp(load(at + c * W) - top);
            total += exponential;
            store(at + c * W, exponential);
        }
        V inverse = all(1);
        for (int64_t i = t * W; i < std::min(columns, (t + 1) * W); ++i) inverse[i - t * W] = inverse_weights[i];
        V share = 1.0f / (total * inverse);
        for (int64_t c = 0; c < N; ++c) {
            store(at + c * W, load(at + c * W) * share);
            for (int64_t i = t * W; i < std::min(columns, (t + 1) * W); ++i) by_list_[c] += out.at(c, i);
        }
    }
    return out;
}

// Returns the categories to read: those with the highest probabilities, or the only one.
std::vector<int64_t> NetworkProbabilities::likeliest() const {
    std::vector<int64_t> order(tied_.categories);
    std::iota(order.begin(), order.end(), 0);
    int64_t count = tied_.category.weight ? std::min(tied_.read_categories, tied_.categories) : tied_.categories;
    std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int64_t a, int64_t b) {
        return by_list_[a] != by_list_[b] ? by_list_[a] > by_list_[b] : a < b;
    });
    order.resize(count);
    return order;
}
