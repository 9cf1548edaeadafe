#include "blend.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace {

constexpr float ROUNDING = 1e-5f;  // bounds are left this much wider than they are

// A bit for each lane that is at least `floor`.
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

// visit(i) for those of `count` numbers that are at least floor(), which may rise meanwhile.
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

}  // namespace

float Blend::score(float probability) const { return weight_ * std::log1p(probability * float(tied_.items)); }

// The probability that an item about which nothing else was said must have to be among the best.
float Blend::least() const {
    if (best_.floor() <= 0) return 0;
    double least = std::expm1(double(best_.floor()) / double(weight_)) / double(tied_.items);
    return float(std::min(least * (1 - ROUNDING), 2.0));  // above 1: none can
}

// About what the last of the answer will have at least, by the strengths alone; 0 where there are too few to guess.
float Blend::guess(const Strengths& strengths) {
    constexpr int64_t SAMPLED = 16;
    std::vector<float> sample;
    for (int64_t i = 0; i < strengths.count(); i += SAMPLED)
        if (float score = strengths.scores()[i]; score == score) sample.push_back(score);  // an order needs numbers
    size_t nth = size_t(best_.wanted() / SAMPLED * 2 + 4);
    if (nth >= sample.size()) return 0;
    std::nth_element(sample.begin(), sample.begin() + nth, sample.end(), std::greater<float>());
    return sample[nth];
}

void Blend::offer_strong(const Strengths& strengths) {
    if (float high = guess(strengths); high > 0) {  // those first, so that few others need to be looked at
        offer_from(strengths, high);
        best_.prune();
    }
    offer_from(strengths, 0);
}

void Blend::offer_from(const Strengths& strengths, float high) {
    const int32_t *items = strengths.items(), *first = items, *end = items + strengths.count();
    for (int64_t c = 0; c < tied_.categories && first < end; ++c) {
        const int32_t* last = std::lower_bound(first, end, int32_t(tied_.starts[c + 1]));
        const float* scores = strengths.scores() + (first - items);
        float most = score(likely_.highest(c)) + ROUNDING;
        visit_high(scores, last - first, [&] { return std::max(high, best_.floor() * (1 - ROUNDING) - most); },
                   [&](int64_t i) { best_.offer(first[i], score(likely_.of_item(c, first[i])) + scores[i]); });
        first = last;
    }
}

void Blend::offer_likely() {
    for (int64_t c = 0; c < tied_.categories; ++c) {
        if (likely_.highest(c) * (1 + ROUNDING) < least()) continue;
        if (const Mixture* inside = likely_.inside(c)) {
            inside->visit([&] { return least() * (1 - ROUNDING); },
                          [&](int64_t item, float probability) { best_.offer(item, score(probability)); });
            continue;
        }
        int64_t first = tied_.starts[c];
        float share = std::max(likely_.of(c), 1e-30f);
        visit_high(tied_.prior + first, tied_.starts[c + 1] - first, [&] { return least() / share; },
                   [&](int64_t i) { best_.offer(first + i, score(likely_.of_item(c, first + i))); });
    }
}
