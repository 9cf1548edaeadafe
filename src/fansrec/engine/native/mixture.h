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

    // Offers the items that the list memory or the linear part scores.
    void offer_scored(const SparseScores& sparse) {
        float high = high_score(sparse);  // the highest first, so that most others can be skipped
        offer_from(sparse, high, -MINUS_INFINITY);
        shortlist_.prune();
        offer_from(sparse, 0, high);
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

    // Offers the items with sparse scores from `low` on, and below `high`.
    void offer_from(const SparseScores& sparse, float low, float high) {
        const int32_t *items = sparse.items(), *first = items, *end = items + sparse.count();
        for (int64_t c = 0; c < tied_.categories && first < end; ++c) {
            const int32_t* last = std::lower_bound(first, end, int32_t(tied_.starts[c + 1]));
            const float* scores = sparse.scores() + (first - items);
            float most = (network_ ? score(network_->highest(c)) : 0.0f) + ROUNDING;
            auto floor = [&] { return std::max(low, shortlist_.floor() * (1 - ROUNDING) - most); };
            visit_high(scores, last - first, floor, [&](int64_t i) {
                if (scores[i] >= high) return;
                shortlist_.offer(first[i], network_ ? score(network_->of_item(c, first[i])) + scores[i] : scores[i]);
            });
            first = last;
        }
    }
};
