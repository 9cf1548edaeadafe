// Vectors of floats, as wide as the instruction set that this copy of the library is compiled for, and their functions.
//
// The same source is compiled once per instruction set (compile.py); the vector extensions of GCC and Clang turn
// `a * b + c` into the instructions of each.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>
#if defined(__AVX__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12 warns about its own headers (GCC bug 105593)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#if defined(__AVX512F__)
constexpr int W = 16;  // lanes of a vector
#elif defined(__AVX__)
constexpr int W = 8;
#else
constexpr int W = 4;
#endif

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int ROWS = 8;  // rows of a product computed together: 3 x 8 sums need more than 16 vector registers
#else
constexpr int ROWS = 4;
#endif

typedef float V __attribute__((vector_size(W * 4)));
typedef int32_t VI __attribute__((vector_size(W * 4)));

constexpr float MINUS_INFINITY = -__builtin_inff();

inline V load(const float* from) {
    V v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

// Loads W pairs of integers, and returns the first (HALF 0) or the second ones (HALF 1) as floats.
template <int HALF>
inline V load_half(const int16_t* pairs) {
    VI v;
    std::memcpy(&v, pairs, sizeof v);  // the first integer of a pair is in the lower bits
    return __builtin_convertvector(HALF ? v >> 16 : (v << 16) >> 16, V);
}

inline void store(float* to, V v) { std::memcpy(to, &v, sizeof v); }

inline V all(float x) { return x - V{}; }

inline V larger(V a, V b) {
#if defined(__AVX512F__)
    return _mm512_max_ps(a, b);  // compilers do not always find this instruction
#else
    return a > b ? a : b;
#endif
}

inline V smaller(V a, V b) { return a < b ? a : b; }

inline VI lanes() {  // 0, 1, 2, ...
    VI v;
    for (int i = 0; i < W; ++i) v[i] = i;
    return v;
}

inline float largest(V v) {
#if !defined(__clang__)
    for (int half = W / 2; half > 0; half /= 2) v = larger(v, __builtin_shuffle(v, (lanes() + half) % W));
    return v[0];
#else
    float best = v[0];
    for (int i = 1; i < W; ++i) best = v[i] > best ? v[i] : best;
    return best;
#endif
}

inline bool any_above(V a, V b) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0;
#else
    VI above = a > b;
    int32_t any = 0;
    for (int i = 0; i < W; ++i) any |= above[i];
    return any;
#endif
}

// Returns p * 2^n; the lowest bits of `shifted` are the integer n.
inline __attribute__((always_inline)) V times_2_to(V p, V n, V shifted) {
#if defined(__AVX512F__)
    (void)shifted;
    return _mm512_scalef_ps(p, n);
#else
    (void)n;
    VI bits, whole;
    std::memcpy(&bits, &p, sizeof p);
    std::memcpy(&whole, &shifted, sizeof whole);
    bits += whole << 23;  // shifts the upper bits of `shifted` out
    std::memcpy(&p, &bits, sizeof p);
    return p;
#endif
}

// Returns a polynomial of x, from the coefficient of its highest power to the constant.
template <class... Coefficients>
inline __attribute__((always_inline)) V polynomial(V x, float highest, Coefficients... others) {
    V p = all(highest);
    ((p = p * x + others), ...);
    return p;
}

constexpr float LOG2_E = 1.44269504f;
constexpr float ROUND = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer in the lowest bits

// Returns 2^t with a relative error of 2e-7, for t below 127. Clamps t at -115: denormal results would be slow.
inline __attribute__((always_inline)) V power_of_2(V t) {
    t = larger(t, all(-115.0f));
    V shifted = t + ROUND, n = shifted - ROUND;
    V p = polynomial(t - n, 0.00132764434f, 0.00967556424f, 0.0555071346f, 0.240221187f, 0.693146944f, 1.00000012f);
    return times_2_to(p, n, shifted);
}

// Returns e^x with a relative error of 2e-7. Clamps x at -80: denormal results would be slow.
inline __attribute__((always_inline)) V exp(V x) {
    x = larger(x, all(-80.0f));
    V shifted = x * LOG2_E + ROUND, n = shifted - ROUND;
    V r = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
    V p = polynomial(r, 0.0013835785f, 0.0083756447f, 0.0416682884f, 0.1666641086f, 0.4999999106f, 1.0f, 1.0f);
    return times_2_to(p, n, shifted);
}

// Returns the exact GELU: x times the standard normal distribution function, whose error is at most 2e-7. The function
// is a quotient of two polynomials in x^2, fitted for |x| < 5.4; beyond, it is 0 or 1 in float32.
inline __attribute__((always_inline)) V gelu(V x) {
    V c = larger(smaller(x, all(5.4f)), all(-5.4f)), s = c * c;
    V p = polynomial(s, 2.3386736e-08f, 6.3600264e-06f, 1.6432209e-04f, 4.6508536e-03f, 3.3372264e-02f, 3.9894223e-01f);
    V q = polynomial(s, 1.2165915e-06f, 7.2400333e-05f, 1.8589838e-03f, 2.8378708e-02f, 2.5031796e-01f, 1.0f);
    return x * (c * p / q + 0.5f);
}

// Returns ln(1 + x) for x from 0 to 1e30 with a relative error of 2e-7.
inline V log1p(V x) {
    V u = 1.0f + x;
    V lost = (x - (u - 1.0f)) / u;  // the rounding error of 1 + x
    lost = u < 16777216.0f ? lost : V{};
    VI bits;
    std::memcpy(&bits, &u, sizeof u);
    constexpr int32_t ROOT = 0x3f3504f3;  // sqrt(1/2): u = 2^n f with f from ROOT to 2 ROOT
    VI n = (bits - ROOT) >> 23;
    bits -= n << 23;
    V f;
    std::memcpy(&f, &bits, sizeof f);
    V s = (f - 1.0f) / (f + 1.0f), z = s * s;  // ln f = 2 (s + s^3 / 3 + s^5 / 5 + ...)
    V p = polynomial(z, 2.0f / 9, 2.0f / 7, 2.0f / 5, 2.0f / 3);
    V whole = __builtin_convertvector(n, V);
    return whole * 0.693359375f + (2.0f * s + (s * z * p + (lost - whole * 2.12194440e-4f)));
}
