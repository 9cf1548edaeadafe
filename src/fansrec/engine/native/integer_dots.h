// Dot products of a few vectors with many items, all of them rounded to 16-bit integers: an instruction of VNNI adds
// two products per lane, and nothing has to be converted to float32.
//
// Sums of GROUP products are integers, so they are exact; vectors are rounded such that they cannot overflow.
#pragma once
#include <algorithm>
#include <cmath>

#include "dots.h"

constexpr int64_t GROUP = 16;               // products added as integers
constexpr float LARGEST_NUMBER = 32766.0f;  // of a rounded vector; adding a rounding error of 1/2 leaves 16 bits
constexpr float LARGEST_SUM = 65520.0f;     // of GROUP numbers without their signs: 32,767 (65,520 + 16 / 2) < 2^31

#if defined(__AVX512VNNI__)
constexpr bool HAS_INTEGER_DOTS = true;
#else
constexpr bool HAS_INTEGER_DOTS = false;
#endif

// Returns the step of a vector: the smallest one with which neither a number nor a sum of products overflows.
inline float step_of(const float* vector, int64_t depth) {
    float step = 1e-30f;
    for (int64_t first = 0; first < depth; first += GROUP) {
        float sum = 0, highest = 0;
        for (int64_t d = first; d < std::min(first + GROUP, depth); ++d) {
            sum += std::abs(vector[d]);
            highest = std::max(highest, std::abs(vector[d]));
        }
        step = std::max({step, sum / LARGEST_SUM, highest / LARGEST_NUMBER});
    }
    return step;
}

// Writes a vector as integers, in pairs; an odd one out gets a zero.
inline void round_vector(const float* vector, int64_t depth, float step, int32_t* pairs) {
    auto number = [&](int64_t d) { return d < depth ? uint32_t(std::lrint(vector[d] / step)) : 0; };
    for (int64_t d = 0; d < depth; d += 2) pairs[d / 2] = int32_t((number(d) & 0xffff) | number(d + 1) << 16);
}

#if defined(__AVX512VNNI__)
// A number of pairs known at compile time (PAIRS, unless it is 0) saves the registers that P addresses would need.
template <int P, int PAIRS>
inline __attribute__((always_inline)) void integer_dots_of(
    const int32_t* vectors, const float* steps, const int16_t* items, int64_t any_pairs, V (*out)[VECTORS]) {
    const int64_t pairs = PAIRS ? PAIRS : any_pairs;
    V total[P];
    __m512i sum[P];
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) total[p] = all(0);
    for (int64_t first = 0; first < pairs; first += GROUP / 2) {
        for (int p = 0; p < P; ++p) sum[p] = _mm512_setzero_si512();
        int64_t end = PAIRS % (GROUP / 2) == 0 && PAIRS ? first + GROUP / 2 : std::min(first + GROUP / 2, pairs);
#pragma GCC unroll 8
        for (int64_t k = first; k < end; ++k) {
            const int16_t* here = items + k * 2 * ITEMS_AT_ONCE;
            __builtin_prefetch(here + PREFETCH_ITEMS * pairs * 2, 0, 2);
            __m512i item = _mm512_loadu_si512(here);
#pragma GCC unroll 8
            for (int p = 0; p < P; ++p)
                sum[p] = _mm512_dpwssd_epi32(sum[p], item, _mm512_set1_epi32(vectors[p * pairs + k]));
        }
        for (int p = 0; p < P; ++p) total[p] += V(_mm512_cvtepi32_ps(sum[p]));
    }
    for (int p = 0; p < P; ++p) out[p][0] = total[p] * steps[p];
}
#endif

// Computes the dot products of P rounded vectors with 16 items; `steps` are those of the vectors.
template <int P>
inline void integer_dots(const int32_t* vectors, const float* steps, const int16_t* items, int64_t pairs,
                         V (*out)[VECTORS]) {
#if defined(__AVX512VNNI__)
    if (pairs == 32)
        integer_dots_of<P, 32>(vectors, steps, items, pairs, out);
    else
        integer_dots_of<P, 0>(vectors, steps, items, pairs, out);
#else
    (void)vectors, (void)steps, (void)items, (void)pairs, (void)out;
#endif
}
