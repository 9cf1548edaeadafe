// The weighted sum of the parts of the hybrid model (models/hybrid/model.py), for items that can be among the best.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>

#include "comparisons.h"
#include "shortlist.h"
#include "sparse_scores.h"
#include "tied_classifier.h"

class Mixture {
   public:
    // `network` is null if it has no weight.
    Mixture(const TiedClassifier& tied, double network_weight, const NetworkProbabilities* network,
            Shortlist& shortlist)
        : tied_(tied), weight_(float(network_weight)), network_(network), shortlist_(shortlist) {}

    // Offers the only items that may be selected; for a few of them, faster than what follows.
    void offer_few(const SparseScores& sparse, const int64_t* few, int64_t count) {
        const int32_t *items = sparse.items(), *end = items + sparse.count();
        for (int64_t i = 0; i < count; ++i) {
            const int32_t* found = std::lower_bound(items, end, int32_t(few[i]));
            float known = found != end && *found == few[i] ? sparse.scores()[found - items] : 0.0f;
            int64_t category = std::upper_bound(tied_.starts, tied_.starts + tied_.categories, few[i]) - tied_.starts - 1;
            shortlist_.offer(few[i], (network_ ? score(network_->of_item(category, few[i])) : 0.0f) + known);
        }
    }

    // Offers the items that the list memory or the linear part scores.
    void offer_scored(const SparseScores& sparse) {
        float high = high_score(sparse);  // the highest first, so that most others can be skipped
        std::vector<Range> ranges = ranges_of(sparse);
        offer_from(sparse, ranges, high, -MINUS_INFINITY);
        shortlist_.prune();
        offer_from(sparse, ranges, 0, high);
    }

    // Offers all others; called second, when the shortlist has a floor.
    void offer_unscored() {
        if (!network_) return offer_rest();
        for (int64_t c = 0; c < tied_.categories; ++c) {
            if (network_->highest(c) * (1 + ROUNDING) < least()) continue;
            if (const CategoryProbabilities* read = network_->read(c)) {
                read->visit([&] { return least() * (1 - ROUNDING); },
                              [&](int64_t item, float probability) { shortlist_.offer(item, score(probability)); });
                continue;
            }
            int64_t first = tied_.starts[c];
            float share = std::max(network_->of_category(c), 1e-30f);
            visit_high(tied_.prior + first, tied_.starts[c + 1] - first, [&] { return least() / share; },
                       [&](int64_t i) { shortlist_.offer(first + i, score(network_->of_item(c, first + i))); });
        }
    }

   private:
    static constexpr float ROUNDING = 1e-5f;  // bounds are relaxed by this much, relative and absolute

    const TiedClassifier& tied_;
    float weight_;
    const NetworkProbabilities* network_;
    Shortlist& shortlist_;

    float score(float probability) const { return weight_ * std::log1p(probability * float(tied_.items)); }

    // Offers all items with a score of 0, if that can be enough.
    void offer_rest() {
        for (int64_t item = 0; item < tied_.items && shortlist_.floor() <= 0; ++item) shortlist_.offer(item, 0.0f);
    }

    // Returns the probability that an item without a sparse score needs to be among the best.
    float least() const {
        if (shortlist_.floor() <= 0) return 0;
        double least = std::expm1(double(shortlist_.floor()) / double(weight_)) / double(tied_.items);
        return float(std::min(least * (1 - ROUNDING), 2.0));  // above 1: no item can be
    }

    // Returns a sparse score that about twice as many items reach as are requested; 0 if there are too few.
    float high_score(const SparseScores& sparse) const {
        constexpr int64_t SAMPLE_EVERY = 16;
        std::vector<float> sample, high;
        for (int64_t i = 0; i < sparse.count(); i += SAMPLE_EVERY)
            if (float score = sparse.scores()[i]; score == score) sample.push_back(score);  // NaN cannot be sorted
        float least = nth_highest(sample, shortlist_.count() / SAMPLE_EVERY * 2 + 4);
        visit_high(sparse.scores(), sparse.count(), [&] { return least; },
                   [&](int64_t i) { high.push_back(sparse.scores()[i]); });
        return nth_highest(high, shortlist_.count() * 2);
    }

    static float nth_highest(std::vector<float>& scores, int64_t n) {
        if (n >= int64_t(scores.size())) return 0;
        std::nth_element(scores.begin(), scores.begin() + n, scores.end(), std::greater<float>());
        return scores[n];
    }

    // The items of one category among those with sparse scores, and the most that the network can add to their scores.
    struct Range {
        int64_t category, first, last;
        float most;
    };

    std::vector<Range> ranges_of(const SparseScores& sparse) const {
        constexpr int64_t STRIDE = 16;  // a binary search would take as long as its branches that cannot be predicted
        std::vector<Range> ranges;
        const int32_t* items = sparse.items();
        for (int64_t c = 0, first = 0, last = 0; c < tied_.categories && first < sparse.count(); ++c, first = last) {
            int64_t end = tied_.starts[c + 1];
            while (last + STRIDE <= sparse.count() && items[last + STRIDE - 1] < end) last += STRIDE;
            while (last < sparse.count() && items[last] < end) ++last;
            float most = (network_ ? score(network_->highest(c)) : 0.0f) + ROUNDING;
            if (first < last) ranges.push_back({c, first, last, most});
        }
        return ranges;
    }

    // Offers the items with sparse scores from `low` on, and below `high`. What the network knows about an item is
    // rarely in the cache, so it is prefetched, and the item waits until some more are found.
    void offer_from(const SparseScores& sparse, const std::vector<Range>& ranges, float low, float high) {
        constexpr int64_t WAITING = 16;
        struct Candidate {
            int64_t category, index;
        } waiting[WAITING];
        const int32_t* items = sparse.items();
        const float* scores = sparse.scores();
        auto offer = [&](Candidate it) {
            int32_t item = items[it.index];
            float more = network_ ? score(network_->of_item(it.category, item)) : 0.0f;
            shortlist_.offer(item, more + scores[it.index]);
        };
        int64_t found = 0;
        for (const Range& range : ranges) {
            auto floor = [&] { return std::max(low, shortlist_.floor() * (1 - ROUNDING) - range.most); };
            visit_high(scores + range.first, range.last - range.first, floor, [&](int64_t i) {
                int64_t index = range.first + i;
                if (scores[index] >= high) return;
                if (network_) network_->prefetch(range.category, items[index]);
                if (found >= WAITING) offer(waiting[found % WAITING]);
                waiting[found++ % WAITING] = {range.category, index};
            });
        }
        for (int64_t i = std::max<int64_t>(0, found - WAITING); i < found; ++i) offer(waiting[i % WAITING]);
    }
};
