// What instructions.cuh does with instructions of the GPU, in C++.
#pragma once
#include "device.h"

typedef unsigned short half_t;

inline int lane_id() { return emulation::lane(); }
inline int warp_id() { return int(emulation::current().index.x / 32); }

inline unsigned half_bits(float x) { return bits_as<unsigned short>(static_cast<_Float16>(x)); }
inline float half_value(unsigned bits) { return static_cast<float>(bits_as<_Float16>(static_cast<unsigned short>(bits))); }
inline unsigned pack(float low, float high) { return half_bits(low) | half_bits(high) << 16; }
inline float2 unpack(unsigned both) { return {half_value(both & 0xffff), half_value(both >> 16)}; }
inline float power_of_two(float x) { return std::exp2(x); }

// C (16, 8) += A (16, 8 * STEPS) B (8 * STEPS, 8): lane 4 g + t holds rows g and g + 8 of A, two columns from 2 t on, and
// column g of B. All lanes of the warp see the operands of all.
template <int STEPS>
inline void multiply_fragments(float (&c)[4], const unsigned (&a)[2 * STEPS], const unsigned (&b)[STEPS]) {
    emulation::Warp &warp = emulation::warp();
    float(&operands)[32][12] = warp.operands[warp.barrier.generation & 1];
    const int g = lane_id() / 4, t = lane_id() % 4;
    for (int i = 0; i < 3 * STEPS; ++i) {
        const float2 two = unpack(i < 2 * STEPS ? a[i] : b[i - 2 * STEPS]);
        operands[lane_id()][2 * i] = two.x, operands[lane_id()][2 * i + 1] = two.y;
    }
    emulation::meet(warp.barrier);
    for (int step = 0; step < STEPS; ++step)
        for (int i = 0; i < 4; ++i)
            for (int k = 0; k < 4; ++k) {
                const float *x = operands[4 * g + k] + 2 * (2 * step + i / 2);
                const float *y = operands[4 * (2 * t + (i & 1)) + k] + 2 * (2 * STEPS + step);
                c[i] += x[0] * y[0] + x[1] * y[1];
            }
}

inline void product(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) { multiply_fragments<2>(c, a, {b0, b1}); }
inline void short_product(float (&c)[4], unsigned a0, unsigned a1, unsigned b0) { multiply_fragments<1>(c, {a0, a1}, {b0}); }

inline void load_rows(unsigned (&a)[4], const half_t *from, int stride) {
    __syncwarp();
    const int g = lane_id() / 4, t = lane_id() % 4;
    for (int i = 0; i < 4; ++i) std::memcpy(&a[i], from + (g + 8 * (i & 1)) * stride + 8 * (i / 2) + 2 * t, 4);
    __syncwarp();
}

inline int cluster_rank() { return emulation::current().block->rank; }
inline void cluster_arrive() {
    emulation::current().cluster_generation = emulation::arrive(emulation::current().block->cluster->barrier);
}
inline void cluster_wait() {
    emulation::Barrier &barrier = emulation::current().block->cluster->barrier;
    while (barrier.generation == emulation::current().cluster_generation) emulation::wait_at(barrier);
}
inline void store_to_block(int rank, const void *target, unsigned value) {
    const auto offset = static_cast<const unsigned char *>(target) - emulation::memory();
    std::memcpy(emulation::current().block->cluster->blocks[size_t(rank)]->memory.data() + offset, &value, 4);
}
inline void add_to_block(int rank, const void *target, unsigned long long value) {
    const auto offset = static_cast<const unsigned char *>(target) - emulation::memory();
    unsigned char *there = emulation::current().block->cluster->blocks[size_t(rank)]->memory.data() + offset;
    unsigned long long sum;
    std::memcpy(&sum, there, sizeof(sum));
    sum += value;
    std::memcpy(there, &sum, sizeof(sum));
}
inline void grid_sync(unsigned *) { cluster_arrive(), cluster_wait(); }  // a grid is run as one cluster
inline void allow_next_kernel() {}
inline void wait_for_previous_kernel() {}
