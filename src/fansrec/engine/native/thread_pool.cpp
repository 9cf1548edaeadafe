#include "thread_pool.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace {

inline void cpu_pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

struct Job {
    const std::function<void(int64_t)>* work;
    int64_t tasks;
    int open_slots;  // workers that may still join
    std::atomic<int64_t> next{0};
    std::atomic<int> active{0};

    void run_tasks() {
        for (int64_t task; (task = next.fetch_add(1)) < tasks;) (*work)(task);
    }
};

// Worker threads of the process. After a job they spin for a moment, since the next layer of a list follows at once,
// and then sleep. They take the tasks that are left; the calling thread never waits for a worker to wake up.
class Workers {
   public:
    bool run(int64_t tasks, int helpers, const std::function<void(int64_t)>& work) {
        std::unique_lock<std::mutex> own(job_mutex_, std::try_to_lock);
        if (!own.owns_lock()) return false;  // another call uses the workers
        Job job;
        job.work = &work, job.tasks = tasks, job.open_slots = helpers;
        bool wake;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            try {
                for (; threads_ < helpers; ++threads_) std::thread([this] { worker_loop(); }).detach();
            } catch (const std::system_error&) {  // no more threads are available: the existing ones suffice
            }
            job_ = &job;
            job_number_.fetch_add(1);
            wake = sleeping_ > 0;
        }
        if (wake) wake_up_.notify_all();
        job.run_tasks();
        {
            std::lock_guard<std::mutex> lock(mutex_);
            job_ = nullptr;
        }
        for (int spins = 0; job.active.load() > 0; ++spins) spins < 4096 ? cpu_pause() : std::this_thread::yield();
        return true;
    }

   private:
    std::mutex job_mutex_, mutex_;
    std::condition_variable wake_up_;
    Job* job_ = nullptr;
    std::atomic<uint64_t> job_number_{0};
    int threads_ = 0, sleeping_ = 0;

    void worker_loop() {
        for (uint64_t seen = 0;;) {
            seen = wait_for_job(seen);
            Job* job = nullptr;
            {
                std::lock_guard<std::mutex> lock(mutex_);
                if (job_ && job_->open_slots > 0) {
                    job = job_;
                    --job->open_slots;
                    job->active.fetch_add(1);
                }
            }
            if (job) {
                job->run_tasks();
                job->active.fetch_sub(1);
            }
        }
    }

    uint64_t wait_for_job(uint64_t seen) {
        using Clock = std::chrono::steady_clock;
        auto end = Clock::now() + std::chrono::microseconds(50);
        do {
            for (int spins = 0; spins < 64; ++spins, cpu_pause())
                if (uint64_t now = job_number_.load(); now != seen) return now;
        } while (Clock::now() < end);
        std::unique_lock<std::mutex> lock(mutex_);
        ++sleeping_;
        wake_up_.wait(lock, [&] { return job_number_.load() != seen; });
        --sleeping_;
        return job_number_.load();
    }
};

// A forked child process has none of its parent's threads, so it starts with workers of its own.
std::atomic<Workers*> current_workers{nullptr};

Workers& workers() {
    static std::once_flag once;
    std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { current_workers.store(nullptr); }); });
    Workers* existing = current_workers.load();
    if (existing) return *existing;
    Workers* created = new Workers;  // never deleted: its threads run until the process ends
    if (current_workers.compare_exchange_strong(existing, created)) return *created;
    delete created;
    return *existing;
}

}  // namespace

void ThreadPool::run(int64_t tasks, const std::function<void(int64_t)>& work) const {
    if (threads > 1 && tasks > 1 && workers().run(tasks, threads - 1, work)) return;
    for (int64_t task = 0; task < tasks; ++task) work(task);
}
