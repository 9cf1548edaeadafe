// Who does the work: the calling thread, and others that help it where they are free.
#pragma once
#include <cstdint>
#include <functional>

class Crew {
   public:
    explicit Crew(int threads) : threads(threads) {}

    // work(0) ... work(tasks - 1), in any order; returns when all are done.
    void run(int64_t tasks, const std::function<void(int64_t)>& work) const;

    const int threads;
};

// Strips cut into parts of like size: small enough for what is made of them to stay near a processor, and as many for
// each thread.
struct Parts {
    int64_t strips, step, count;

    Parts(int64_t strips, int threads) : strips(strips) {
        constexpr int64_t MOST = 8;
        int64_t rounds = (strips + MOST * threads - 1) / (MOST * threads);
        step = strips ? (strips + rounds * threads - 1) / (rounds * threads) : 1;
        count = (strips + step - 1) / step;
    }

    int64_t first(int64_t part) const { return part * step; }
    int64_t last(int64_t part) const { return (part + 1) * step < strips ? (part + 1) * step : strips; }
};
