// The order of scores: bits that are in their order, and the bins of histograms.
//
// The scores of the hybrid model are logarithms from 0 to a known highest one, which bins divide evenly. Those of a linear
// model alone (RAW_SUMS) are any numbers: a bin has the first bits of a score.

#if RAW_SUMS
constexpr float SEEN_SCORE = MINUS_INF;  // of items of the input that must not be selected
constexpr float LOWEST_SCORE = 0.9f * MINUS_INF;  // no score of an item is lower: linear/engine.py checks the weights
constexpr int BIN_SHIFT = 21;
static_assert(BINS == 1 << (32 - BIN_SHIFT), "a bin has the first bits of a score");

// Returns bits in the order of the scores, of which negative ones have the highest bit; never 0 for a number.
__device__ __forceinline__ unsigned bits_of(float score) {
    const unsigned bits = __float_as_uint(score);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ float score_of(unsigned bits) { return __uint_as_float(bits >> 31 ? bits & 0x7fffffffu : ~bits); }
__device__ __forceinline__ int bin_of(const Mixture &, float score) { return static_cast<int>(bits_of(score) >> BIN_SHIFT); }
__device__ __forceinline__ float least_of_bin(const Mixture &, int bin) { return score_of(static_cast<unsigned>(bin) << BIN_SHIFT); }
#else
constexpr float SEEN_SCORE = -1.0f;  // of items of the input that must not be selected; other scores are not negative
constexpr float LOWEST_SCORE = 0.0f;

__device__ __forceinline__ unsigned bits_of(float score) { return __float_as_uint(fmaxf(score, 0.0f)) + 1; }
__device__ __forceinline__ float score_of(unsigned bits) { return __uint_as_float(bits - 1); }

__device__ __forceinline__ int bin_of(const Mixture &mixture, float score) {
    return static_cast<int>(fminf(score * mixture.bins_per_point, BINS - 1.0f));
}

__device__ __forceinline__ float least_of_bin(const Mixture &mixture, int bin) { return bin / mixture.bins_per_point * (1 - 1e-5f); }
#endif
