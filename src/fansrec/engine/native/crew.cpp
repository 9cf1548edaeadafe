#include "crew.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace {

inline void breathe() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

struct Job {
    const std::function<void(int64_t)>* work;
    int64_t tasks;
    int wanted;  // helpers that may still join
    std::atomic<int64_t> next{0};
    std::atomic<int> inside{0};

    void help() {
        for (int64_t task; (task = next.fetch_add(1)) < tasks;) (*work)(task);
    }
};

// Threads that wait for a job: awake for a moment after the last one, since a list's next layer comes at once, then
// asleep. They help with what is left; whoever has the job does not wait for a sleeper.
class Pool {
   public:
    bool run(int64_t tasks, int helpers, const std::function<void(int64_t)>& work) {
        std::unique_lock<std::mutex> one(one_job_, std::try_to_lock);
        if (!one.owns_lock()) return false;  // another call has the helpers
        Job job;
        job.work = &work, job.tasks = tasks, job.wanted = helpers;
        bool wake;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            try {
                for (; threads_ < helpers; ++threads_) std::thread([this] { serve(); }).detach();
            } catch (const std::system_error&) {  // no more to be had: those there are will do
            }
            job_ = &job;
            rounds_.fetch_add(1);
            wake = asleep_ > 0;
        }
        if (wake) waking_.notify_all();
        job.help();
        {
            std::lock_guard<std::mutex> lock(mutex_);
            job_ = nullptr;
        }
        for (int turns = 0; job.inside.load() > 0; ++turns) turns < 4096 ? breathe() : std::this_thread::yield();
        return true;
    }

   private:
    std::mutex one_job_, mutex_;
    std::condition_variable waking_;
    Job* job_ = nullptr;
    std::atomic<uint64_t> rounds_{0};
    int threads_ = 0, asleep_ = 0;

    void serve() {
        for (uint64_t seen = 0;;) {
            seen = wait_beyond(seen);
            Job* job = nullptr;
            {
                std::lock_guard<std::mutex> lock(mutex_);
                if (job_ && job_->wanted > 0) {
                    job = job_;
                    --job->wanted;
                    job->inside.fetch_add(1);
                }
            }
            if (job) {
                job->help();
                job->inside.fetch_sub(1);
            }
        }
    }

    uint64_t wait_beyond(uint64_t seen) {
        using Clock = std::chrono::steady_clock;
        auto end = Clock::now() + std::chrono::microseconds(50);
        do {
            for (int turns = 0; turns < 64; ++turns, breathe())
                if (uint64_t now = rounds_.load(); now != seen) return now;
        } while (Clock::now() < end);
        std::unique_lock<std::mutex> lock(mutex_);
        ++asleep_;
        waking_.wait(lock, [&] { return rounds_.load() != seen; });
        --asleep_;
        return rounds_.load();
    }
};

// A process that was forked off has none of its parent's threads: it begins with a pool of its own.
std::atomic<Pool*> pool{nullptr};

Pool& the_pool() {
    static std::once_flag once;
    std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { pool.store(nullptr); }); });
    Pool* known = pool.load();
    if (known) return *known;
    Pool* made = new Pool;  // never deleted: its threads may outlive everything
    if (pool.compare_exchange_strong(known, made)) return *made;
    delete made;
    return *known;
}

}  // namespace

void Crew::run(int64_t tasks, const std::function<void(int64_t)>& work) const {
    if (threads > 1 && tasks > 1 && the_pool().run(tasks, threads - 1, work)) return;
    for (int64_t task = 0; task < tasks; ++task) work(task);
}
