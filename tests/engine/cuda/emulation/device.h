// A GPU for tests: the kernels as C++ on one CPU core. Every CUDA thread is a coroutine that runs until it has to wait
// for others. The order in which threads run is random, so that a missing barrier shows.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes)
#define CLUSTERED

struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }

namespace emulation {

constexpr size_t STACK = 96 * 1024;
constexpr int MAX_SHARED = 227 * 1024, STATIC = 32 * 1024;

struct Index { unsigned x = 0, y = 0, z = 0; };

// Threads that wait for each other. The last one to arrive starts the next generation.
struct Barrier {
    int size = 0, arrived = 0, generation = 0;
    std::vector<struct Thread *> waiting;
};

struct Warp {
    Barrier barrier;
    uint64_t slots[2][32] = {};  // of even and odd generations, so that one can be read while the next is written
    float operands[2][32][12];
};

struct Block {
    Index index;
    int rank = 0;
    std::vector<unsigned char> memory, statics;
    Barrier barrier;
    std::vector<Warp> warps;
    struct Cluster *cluster = nullptr;
};

struct Cluster {
    std::vector<std::unique_ptr<Block>> blocks;
    Barrier barrier;
};

struct Thread {
    Block *block = nullptr;
    Index index;
    int cluster_generation = 0;
    void *stack_pointer = nullptr;
    std::unique_ptr<unsigned char[]> stack;
};

struct Scheduler {
    std::vector<Thread *> ready;
    Thread *current = nullptr;
    void *stack_pointer = nullptr;
    int unfinished = 0;
    Index grid, block_size;
    std::minstd_rand random;
    void (*body)(void *) = nullptr;
    void *argument = nullptr;
};

inline Scheduler scheduler;

#if !defined(__x86_64__)
#error "the emulation switches between threads with x86-64 instructions"
#endif
extern "C" void emulation_switch(void **from, void *to);
asm(".text\n.globl emulation_switch\nemulation_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");

inline void leave() { emulation_switch(&scheduler.current->stack_pointer, scheduler.stack_pointer); }

inline void start_thread() {
    scheduler.body(scheduler.argument);
    scheduler.unfinished--;
    leave();
    std::abort();
}

inline void wait_at(Barrier &barrier) {
    barrier.waiting.push_back(scheduler.current);
    leave();
}

// Returns the generation that the thread arrived in.
inline int arrive(Barrier &barrier) {
    const int generation = barrier.generation;
    if (++barrier.arrived == barrier.size) {
        barrier.arrived = 0, barrier.generation++;
        for (Thread *thread : barrier.waiting) scheduler.ready.push_back(thread);
        barrier.waiting.clear();
    }
    return generation;
}

inline void meet(Barrier &barrier) {
    const int generation = arrive(barrier);
    while (barrier.generation == generation) wait_at(barrier);
}

inline Thread &current() { return *scheduler.current; }
inline int lane() { return int(current().index.x % 32); }
inline Warp &warp() { return current().block->warps[current().index.x / 32]; }

// Returns the values of all lanes of the warp; every lane must call it.
template <class T>
struct Values {
    uint64_t slots[32];
    T of(int lane) const {
        T value;
        std::memcpy(&value, &slots[lane & 31], sizeof(T));
        return value;
    }
};

template <class T>
Values<T> exchange(T value) {
    static_assert(sizeof(T) <= 8, "a lane passes at most 8 bytes");
    Warp &here = warp();
    uint64_t (&slots)[32] = here.slots[here.barrier.generation & 1];
    std::memcpy(&slots[lane()], &value, sizeof(T));
    meet(here.barrier);
    Values<T> values;
    std::memcpy(values.slots, slots, sizeof(values.slots));
    return values;
}

inline unsigned char *memory() { return current().block->memory.data(); }

// Runs all threads of a cluster; returns false if they wait for each other forever.
inline bool run_cluster(Cluster &cluster, int threads) {
    std::vector<std::unique_ptr<Thread>> all;
    for (auto &block : cluster.blocks)
        for (int i = 0; i < threads; ++i) {
            auto thread = std::make_unique<Thread>();
            thread->block = block.get(), thread->index.x = unsigned(i);
            thread->stack.reset(new unsigned char[STACK]);
            auto top = reinterpret_cast<uintptr_t>(thread->stack.get() + STACK) & ~uintptr_t(63);
            auto **frame = reinterpret_cast<void **>(top) - 2;
            *frame = reinterpret_cast<void *>(&start_thread);  // `ret` of emulation_switch goes there
            thread->stack_pointer = frame - 6;
            scheduler.ready.push_back(thread.get());
            all.push_back(std::move(thread));
        }
    scheduler.unfinished = int(all.size());
    while (!scheduler.ready.empty()) {
        const size_t next = scheduler.random() % scheduler.ready.size();
        scheduler.current = scheduler.ready[next];
        scheduler.ready[next] = scheduler.ready.back();
        scheduler.ready.pop_back();
        emulation_switch(&scheduler.stack_pointer, scheduler.current->stack_pointer);
    }
    return scheduler.unfinished == 0;
}

// Runs a kernel on a grid of blocks, cluster after cluster.
template <class... Arguments>
bool launch(void (*kernel)(Arguments...), void **arguments, int columns, int rows, int threads, int shared, int cluster_size) {
    struct Call {
        void (*kernel)(Arguments...);
        void **arguments;
    } call{kernel, arguments};
    scheduler.body = [](void *argument) {
        const Call &call = *static_cast<Call *>(argument);
        [&]<size_t... I>(std::index_sequence<I...>) {
            call.kernel(*static_cast<std::remove_const_t<Arguments> *>(call.arguments[I])...);
        }(std::index_sequence_for<Arguments...>{});
    };
    scheduler.argument = &call;
    scheduler.grid = {unsigned(columns), unsigned(rows), 1}, scheduler.block_size = {unsigned(threads), 1, 1};
    for (int row = 0; row < rows; ++row)
        for (int first = 0; first < columns; first += cluster_size) {
            Cluster cluster;
            cluster.barrier.size = cluster_size * threads;
            for (int rank = 0; rank < cluster_size; ++rank) {
                auto block = std::make_unique<Block>();
                block->index = {unsigned(first + rank), unsigned(row), 0}, block->rank = rank, block->cluster = &cluster;
                block->memory.assign(size_t(shared) + 64, 0xff), block->statics.assign(STATIC, 0xff);  // NaN, not 0
                block->barrier.size = threads;
                block->warps.resize(size_t(threads / 32));
                for (Warp &warp : block->warps) warp.barrier.size = 32;
                cluster.blocks.push_back(std::move(block));
            }
            if (!run_cluster(cluster, threads)) return false;
        }
    return true;
}

}  // namespace emulation

#define threadIdx (emulation::current().index)
#define blockIdx (emulation::current().block->index)
#define gridDim (emulation::scheduler.grid)
#define blockDim (emulation::scheduler.block_size)

inline void __syncthreads() { emulation::meet(emulation::current().block->barrier); }
inline void __syncwarp() { emulation::meet(emulation::warp().barrier); }
inline void __threadfence() {}
inline void __threadfence_system() {}
template <class T> T __shfl_xor_sync(unsigned, T x, int by) { return emulation::exchange(x).of(emulation::lane() ^ by); }
template <class T> T __shfl_sync(unsigned, T x, int from) { return emulation::exchange(x).of(from); }
template <class T> T __shfl_up_sync(unsigned, T x, int by) {
    const int lane = emulation::lane();
    return emulation::exchange(x).of(lane >= by ? lane - by : lane);
}
inline unsigned __ballot_sync(unsigned, bool vote) {
    auto values = emulation::exchange<int>(vote);
    unsigned bits = 0;
    for (int i = 0; i < 32; ++i) bits |= unsigned(values.of(i) != 0) << i;
    return bits;
}
inline int __reduce_add_sync(unsigned, int x) {
    auto values = emulation::exchange(x);
    int sum = 0;
    for (int i = 0; i < 32; ++i) sum += values.of(i);
    return sum;
}

template <class T> T __ldg(const T *at) { return *at; }
template <class T> T __ldcg(const T *at) { return *at; }
template <class T, class U> T atomicAdd(T *at, U x) { T old = *at; *at = T(old + T(x)); return old; }
template <class T, class U> T atomicMax(T *at, U x) { T old = *at; if (T(x) > old) *at = T(x); return old; }
template <class T, class U> T atomicOr(T *at, U x) { T old = *at; *at = T(old | T(x)); return old; }

template <class To, class From> To bits_as(From from) {
    To to;
    std::memcpy(&to, &from, sizeof(to));
    return to;
}
inline unsigned __float_as_uint(float x) { return bits_as<unsigned>(x); }
inline int __float_as_int(float x) { return bits_as<int>(x); }
inline float __uint_as_float(unsigned x) { return bits_as<float>(x); }
inline float __int_as_float(int x) { return bits_as<float>(x); }
inline long long __double_as_longlong(double x) { return bits_as<long long>(x); }
inline double __longlong_as_double(long long x) { return bits_as<double>(x); }
inline long long __double2ll_rn(double x) { return std::llrint(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(unsigned x) { return __builtin_ffs(int(x)); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline long long min(long long a, long long b) { return a < b ? a : b; }
inline long long max(long long a, long long b) { return a > b ? a : b; }
