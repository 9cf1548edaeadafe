#include "sparse_scores.h"

#include <algorithm>
#include <cmath>

#include "checked.h"

namespace {

constexpr float FLOOR = 1e-3f;  // as in models/hybrid/model.py

// Adds the rows of the input items, weighted by recency, to `sums`; prefetches each row while adding the one before.
void add_linear_scores(const LinearPart& linear, const int64_t* input, int64_t length, SparseSums<double>& sums) {
    double* values = sums.values.data();
    auto add_row = [&](int64_t position, auto&& mark) {
        double recency = std::exp(double(position + 1 - length) / linear.decay);
        const int32_t* items = linear.items + input[position] * linear.width;
        const float* weights = linear.weights + input[position] * linear.width;
        int64_t ahead = (input[std::min(position + 1, length - 1)] - input[position]) * linear.width;
        for (int64_t j = 0; j < linear.width; ++j) {
            if (j % 16 == 0) __builtin_prefetch(items + ahead + j), __builtin_prefetch(weights + ahead + j);
            uint32_t item = uint32_t(items[j]);
            CHECK_INDEX(items[j], linear.vocabulary);
            values[item] += weights[j] * recency;
            mark(item);
        }
    };
    sums.change(length * linear.width, [&](auto mark) {
        for (int64_t position = 0; position < length; ++position) add_row(position, mark);
    });
}

}  // namespace

SparseScores::SparseScores(const SparseParts& parts, int64_t items)
    : parts_(parts), votes_(parts.memory ? items : 0), linear_sums_(parts.linear ? items : 0) {
    if (parts.memory) neighbors_ = std::make_unique<NeighborSearch>(*parts.memory);
    int64_t capacity = Runs(items).size() + RUN;
    items_.resize(capacity), scores_.resize(capacity);
    memory_.resize(parts.memory ? capacity : 0), linear_.resize(parts.linear ? capacity : 0);
}

void SparseScores::find_neighbors() {
    if (parts_.memory) neighbors_->search(input_, length_);
}

void SparseScores::add_votes() {
    if (parts_.memory) neighbors_->vote(votes_);
}

void SparseScores::add_linear() {
    if (parts_.linear) add_linear_scores(*parts_.linear, input_, length_, linear_sums_);
}

// Collects the items with a score, except those of the input, and resets the sums.
void SparseScores::finish() {
    for (int64_t i = 0; i < length_; ++i) {
        if (parts_.memory) votes_.values[input_[i]] = 0;
        if (parts_.linear) linear_sums_.values[input_[i]] = 0;
    }
    count_ = 0;
    if (parts_.memory && parts_.linear)
        collect<true, true>();
    else if (parts_.memory)
        collect<true, false>();
    else if (parts_.linear)
        collect<false, true>();
    std::fill(scores_.begin(), scores_.begin() + count_, 0.0f);
    if (parts_.memory) add_log_scores(memory_, parts_.memory_weight);
    if (parts_.linear) add_log_scores(linear_, parts_.linear_weight);
}

// Collects the items of all runs that were changed.
template <bool MEMORY, bool LINEAR>
void SparseScores::collect() {
    float *votes = votes_.values.data(), *memory = memory_.data(), *linear = linear_.data();
    double* linear_sums = linear_sums_.values.data();
    int32_t* items = items_.data();
    int64_t count = 0;  // not count_, which would be stored and loaded again for every run
    if (MEMORY && LINEAR) votes_.runs.merge(linear_sums_.runs);
    (MEMORY ? votes_.runs : linear_sums_.runs).drain([&](int64_t first) __attribute__((always_inline)) {
        unsigned bits = 0;
        if (MEMORY) bits |= above(votes + first, 0.0f);
        if (LINEAR) bits |= above(linear_sums + first, 0.0);
        if (MEMORY) {
            pack(votes + first, bits, memory + count);
            std::memset(votes + first, 0, RUN * sizeof(float));
        }
        if (LINEAR) {
            pack(linear_sums + first, bits, linear + count);
            std::memset(linear_sums + first, 0, RUN * sizeof(double));
        }
        pack_indices(first, bits, items + count);
        count += __builtin_popcount(bits);
    });
    count_ = count;
}

// Adds weight * log(1 + value / (largest value * FLOOR)) to the scores; negative values count as 0.
void SparseScores::add_log_scores(const std::vector<float>& values, double weight) {
    V highest = V{};
    int64_t whole = count_ / W * W;
    for (int64_t i = 0; i < whole; i += W) highest = larger(highest, load(&values[i]));
    float largest_value = largest(highest);
    for (int64_t i = whole; i < count_; ++i) largest_value = std::max(largest_value, values[i]);
    if (largest_value <= 0) return;
    float scale = 1 / (largest_value * FLOOR);
    for (int64_t i = 0; i < count_; i += W) {  // the vectors have room for W numbers beyond the last item
        V value = larger(load(&values[i]) * scale, V{});
        store(&scores_[i], load(&scores_[i]) + float(weight) * log1p(value));
    }
}
