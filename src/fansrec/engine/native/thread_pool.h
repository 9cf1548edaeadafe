// Parallel loops: the calling thread runs the tasks, and idle worker threads of the process help it.
#pragma once
#include <cstdint>
#include <functional>

class ThreadPool {
   public:
    explicit ThreadPool(int threads) : threads(threads) {}

    // Calls work(0) ... work(tasks - 1) in any order and returns when all calls have returned.
    void run(int64_t tasks, const std::function<void(int64_t)>& work) const;

    const int threads;
};

// Divides a number of tiles into parts of similar size: small enough for the intermediate results of a part to stay in
// the cache, and the same number of parts for every thread.
struct Partition {
    int64_t tiles, step, count;

    Partition(int64_t tiles, int threads) : tiles(tiles) {
        constexpr int64_t MAX_STEP = 8;
        int64_t rounds = (tiles + MAX_STEP * threads - 1) / (MAX_STEP * threads);
        step = tiles ? (tiles + rounds * threads - 1) / (rounds * threads) : 1;
        count = (tiles + step - 1) / step;
    }

    int64_t first(int64_t part) const { return part * step; }
    int64_t last(int64_t part) const { return (part + 1) * step < tiles ? (part + 1) * step : tiles; }
};
