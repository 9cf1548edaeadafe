// Sums over very many items, of which one list changes few.
//
// They are 0 between two lists. A byte per run of sixteen sums records whether one of them was changed; it is stored
// unconditionally, since a list of the changed sums would make every addition wait for the previous one. Afterwards
// only those runs are read and reset, so the cost does not grow with the catalog.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

#include "comparisons.h"

constexpr int64_t RUN = 16;  // float32 numbers in a cache line

// Writes those of sixteen numbers whose bit is set, one after the other; `to` must have space for sixteen.
inline void pack(const float* run, unsigned bits, float* to) {
#if defined(__AVX512F__)
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps(__mmask16(bits), _mm512_loadu_ps(run)));
#else
    for (; bits; bits &= bits - 1) *to++ = run[__builtin_ctz(bits)];
#endif
}

inline void pack(const double* run, unsigned bits, float* to) {
#if defined(__AVX512F__)
    __m256 low = _mm512_cvtpd_ps(_mm512_loadu_pd(run)), high = _mm512_cvtpd_ps(_mm512_loadu_pd(run + 8));
    __m512 all = _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps(__mmask16(bits), all));
#else
    for (; bits; bits &= bits - 1) *to++ = float(run[__builtin_ctz(bits)]);
#endif
}

// Writes those of first, first + 1, ... whose bit is set, likewise.
inline void pack_indices(int64_t first, unsigned bits, int32_t* to) {
#if defined(__AVX512F__)
    __m512i upwards = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i indices = _mm512_add_epi32(upwards, _mm512_set1_epi32(int(first)));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(__mmask16(bits), indices));
#else
    for (; bits; bits &= bits - 1) *to++ = int32_t(first + __builtin_ctz(bits));
#endif
}

class Runs {
   public:
    explicit Runs(int64_t count) : touched_((count + RUN - 1) / RUN / 8 * 8 + 8) {}

    int64_t size() const { return int64_t(touched_.size()) * RUN; }  // `count`, rounded up
    uint8_t* touched() { return touched_.data(); }                   // set [index / RUN] to 1 to mark a run

    // Adds the marks of `other` and clears them there.
    void merge(Runs& other) {
        for (size_t i = 0; i < touched_.size(); ++i) touched_[i] |= other.touched_[i];
        std::memset(other.touched_.data(), 0, touched_.size());
    }

    // Calls visit(first index) for every marked run in ascending order and clears the marks.
    template <class Visit>
    void drain(Visit&& visit) {
        for (size_t eight = 0; eight < touched_.size(); eight += 8) {
            uint64_t marks;
            std::memcpy(&marks, &touched_[eight], 8);
            if (!marks) continue;
            for (size_t run = eight; run < eight + 8; ++run)
                if (touched_[run]) visit(int64_t(run) * RUN);
            std::memset(&touched_[eight], 0, 8);
        }
    }

   private:
    std::vector<uint8_t> touched_;
};

// The sums of one thread.
template <class Number>
struct SparseSums {
    std::vector<Number> values;
    Runs runs;
    explicit SparseSums(int64_t count) : runs(count) { values.resize(runs.size()); }

    // Calls add(mark), which calls mark(index) for every sum that it changes; `additions` is about how many.
    template <class Add>
    void change(int64_t additions, Add&& add) {
        uint8_t* touched = runs.touched();
        if (additions < runs.size() / 2) return add([=](uint32_t index) { touched[index / RUN] = 1; });
        std::memset(touched, 1, runs.size() / RUN);  // most runs will be changed: cheaper than a mark per addition
        add([](uint32_t) {});
    }
};
