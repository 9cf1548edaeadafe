// The weighted sum of the parts of the hybrid model (models/hybrid/model.py), for items that can be among the best.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>

#include "shortlist.h"
#include "sparse_scores.h"
#include "tied_classifier.h"

// Returns a bit for each of W numbers that is at least `floor`.
inline unsigned at_least(const float* lanes, float floor) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(lanes), _mm512_set1_ps(floor), _CMP_GE_OQ);
#elif defined(__AVX__)
    return unsigned(_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(lanes), _mm256_set1_ps(floor), _CMP_GE_OQ)));
#else
    unsigned bits = 0;
    for (int l = 0; l < W; ++l) bits |= unsigned(lanes[l] >= floor) << l;
    return bits;
#endif
}

// Calls visit(i) for those of `count` numbers that are at least floor(), which may rise meanwhile.
template <class Floor, class Visit>
inline void visit_high(const float* numbers, int64_t count, Floor&& floor, Visit&& visit) {
    float least = floor();
    int64_t i = 0;
    for (; i + W <= count; i += W) {
        unsigned bits = at_least(numbers + i, least);
        if (!bits) continue;
        for (; bits; bits &= bits - 1) visit(i + __builtin_ctz(bits));
        least = floor();
    }
    for (; i < count; ++i)
        if (numbers[i] >= least) visit(i);
}

class Mixture {
   public:
    // `network` is null if it has no weight.
    Mixture(const TiedClassifier& tied, double network_weight, const NetworkProbabilities* network,
            Shortlist& shortlist)
        : tied_(tied), weight_(float(network_weight)), network_(network), shortlist_(shortlist) {}

    // Offers the items that the list memory or the linear part scores.
    void offer_scored(const SparseScores& sparse) {
        if (float high = estimate_floor(sparse); high > 0) {  // the highest first, so that most others can be skipped
            offer_from(sparse, high);
            shortlist_.prune();
        }
        offer_from(sparse, 0);
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

    // Estimates the lowest score of the answer from a sample of the sparse scores; 0 if there are too few.
    float estimate_floor(const SparseScores& sparse) {
        constexpr int64_t SAMPLE_EVERY = 16;
        std::vector<float> sample;
        for (int64_t i = 0; i < sparse.count(); i += SAMPLE_EVERY)
            if (float score = sparse.scores()[i]; score == score) sample.push_back(score);  // NaN cannot be sorted
        size_t nth = size_t(shortlist_.count() / SAMPLE_EVERY * 2 + 4);
        if (nth >= sample.size()) return 0;
        std::nth_element(sample.begin(), sample.begin() + nth, sample.end(), std::greater<float>());
        return sample[nth];
    }

    void offer_from(const SparseScores& sparse, float high) {
        const int32_t *items = sparse.items(), *first = items, *end = items + sparse.count();
        for (int64_t c = 0; c < tied_.categories && first < end; ++c) {
            const int32_t* last = std::lower_bound(first, end, int32_t(tied_.starts[c + 1]));
            const float* scores = sparse.scores() + (first - items);
            float most = (network_ ? score(network_->highest(c)) : 0.0f) + ROUNDING;
            auto floor = [&] { return std::max(high, shortlist_.floor() * (1 - ROUNDING) - most); };
            visit_high(scores, last - first, floor, [&](int64_t i) {
                shortlist_.offer(first[i], network_ ? score(network_->of_item(c, first[i])) + scores[i] : scores[i]);
            });
            first = last;
        }
    }
};
