#pragma once
#include "simd.h"

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
    V p = all(2.0f / 9);
    p = p * z + 2.0f / 7;
    p = p * z + 2.0f / 5;
    p = p * z + 2.0f / 3;
    V whole = __builtin_convertvector(n, V);
    return whole * 0.693359375f + (2.0f * s + (s * z * p + (lost - whole * 2.12194440e-4f)));
}
