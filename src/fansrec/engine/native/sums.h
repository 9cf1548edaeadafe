// Sums over very many items, of which one list touches few.
//
// They are 0 between two lists. Which runs of sixteen numbers were added to is noted in a byte each, stored without
// looking: a list of the touched numbers would make every addition wait for the one before. Only those runs are looked
// through and cleaned afterwards, so that a catalogue ten times as large costs no more.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

constexpr int64_t RUN = 16;  // of float32, a line of cache

// A bit for each of sixteen numbers that is above `floor`.
inline unsigned above(const float* run, float floor) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(run), _mm512_set1_ps(floor), _CMP_GT_OQ);
#else
    unsigned bits = 0;
    for (int i = 0; i < RUN; ++i) bits |= unsigned(run[i] > floor) << i;
    return bits;
#endif
}

inline unsigned above(const double* run, double floor) {
#if defined(__AVX512F__)
    __m512d least = _mm512_set1_pd(floor);
    return unsigned(_mm512_cmp_pd_mask(_mm512_loadu_pd(run), least, _CMP_GT_OQ)) |
           unsigned(_mm512_cmp_pd_mask(_mm512_loadu_pd(run + 8), least, _CMP_GT_OQ)) << 8;
#else
    unsigned bits = 0;
    for (int i = 0; i < RUN; ++i) bits |= unsigned(run[i] > floor) << i;
    return bits;
#endif
}

// Those of sixteen numbers whose bit is set, side by side; there must be room for sixteen.
inline void pack(const float* run, unsigned bits, float* to) {
#if defined(__AVX512F__)
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps(__mmask16(bits), _mm512_loadu_ps(run)));
#else
    for (; bits; bits &= bits - 1) *to++ = run[__builtin_ctz(bits)];
#endif
}

// The same of first, first + 1, ...
inline void pack_numbers(int64_t first, unsigned bits, int32_t* to) {
#if defined(__AVX512F__)
    __m512i upwards = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i numbers = _mm512_add_epi32(upwards, _mm512_set1_epi32(int(first)));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(__mmask16(bits), numbers));
#else
    for (; bits; bits &= bits - 1) *to++ = int32_t(first + __builtin_ctz(bits));
#endif
}

class Runs {
   public:
    explicit Runs(int64_t numbers) : touched_((numbers + RUN - 1) / RUN / 8 * 8 + 8) {}

    int64_t numbers() const { return int64_t(touched_.size()) * RUN; }  // no fewer than were asked for
    uint8_t* touched() { return touched_.data(); }                      // [number / RUN] = 1 notes a number's run

    // Takes over what another has noted.
    void add(Runs& other) {
        for (size_t i = 0; i < touched_.size(); ++i) touched_[i] |= other.touched_[i];
        std::memset(other.touched_.data(), 0, touched_.size());
    }

    // visit(first number of the run) for every run touched, in order; they are forgotten.
    template <class Visit>
    void take(Visit&& visit) {
        for (size_t eight = 0; eight < touched_.size(); eight += 8) {
            uint64_t some;
            std::memcpy(&some, &touched_[eight], 8);
            if (!some) continue;
            for (size_t run = eight; run < eight + 8; ++run)
                if (touched_[run]) visit(int64_t(run) * RUN);
            std::memset(&touched_[eight], 0, 8);
        }
    }

   private:
    std::vector<uint8_t> touched_;
};

// Sums that one thread makes.
template <class Number>
struct Sums {
    std::vector<Number> of;
    Runs runs;
    explicit Sums(int64_t numbers) : runs(numbers) { of.resize(runs.numbers()); }
};
