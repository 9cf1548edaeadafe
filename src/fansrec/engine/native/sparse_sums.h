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
    explicit Runs(int64_t count) : touched_((count + RUN - 1) / RUN / 64 * 64 + 64) {}

    int64_t size() const { return int64_t(touched_.size()) * RUN; }  // `count`, rounded up
    uint8_t* touched() { return touched_.data(); }                   // set [index / RUN] to 1 to mark a run

    // Adds the marks of `other` and clears them there.
    void merge(Runs& other) {
        uint8_t *__restrict to = touched_.data(), *__restrict from = other.touched_.data();
        for (size_t i = 0; i < touched_.size(); ++i) to[i] |= from[i];
        std::memset(from, 0, touched_.size());
    }

    // Calls visit(first index) for every marked run in ascending order and clears the marks.
    template <class Visit>
    void drain(Visit&& visit) {
        for (size_t first = 0; first < touched_.size(); first += 64) {
            uint64_t bits = bits_of(&touched_[first]);
            if (!bits) continue;
            for (; bits; bits &= bits - 1) visit(int64_t(first + size_t(__builtin_ctzll(bits))) * RUN);
            std::memset(&touched_[first], 0, 64);
        }
    }

   private:
    std::vector<uint8_t> touched_;

    // Returns a bit for each of 64 bytes, which are 0 or 1: a loop over bits has one unpredictable branch per 64.
    static uint64_t bits_of(const uint8_t* bytes) {
        uint64_t bits = 0;
        for (int word = 0; word < 8; ++word) {
            uint64_t eight;
            std::memcpy(&eight, bytes + 8 * word, 8);
            bits |= (eight * 0x0102040810204080u >> 56) << (8 * word);  // byte i becomes bit i of the highest byte
        }
        return bits;
    }
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
