// Which of several numbers are high.
#pragma once
#include "simd.h"

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

// Returns a bit for each of sixteen numbers that is above `floor`.
template <class Number>
inline unsigned above(const Number* run, Number floor) {
    unsigned bits = 0;
    for (int i = 0; i < 16; ++i) bits |= unsigned(run[i] > floor) << i;
    return bits;
}

#if defined(__AVX512F__)
inline unsigned above(const float* run, float floor) {
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(run), _mm512_set1_ps(floor), _CMP_GT_OQ);
}

inline unsigned above(const double* run, double floor) {
    __m512d least = _mm512_set1_pd(floor);
    return unsigned(_mm512_cmp_pd_mask(_mm512_loadu_pd(run), least, _CMP_GT_OQ)) |
           unsigned(_mm512_cmp_pd_mask(_mm512_loadu_pd(run + 8), least, _CMP_GT_OQ)) << 8;
}
#endif
