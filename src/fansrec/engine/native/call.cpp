// The functions that Python calls. The lists of a call are divided among threads: one batch of lists per thread, or one
// list among all threads.
#include "call.h"

#include <algorithm>
#include <atomic>

namespace {

constexpr int64_t MAX_BATCH_TOKENS = 768;  // so that the activations of a batch stay in the cache

// Returns a bit per item that is set if no list may receive the item; empty if all items are allowed.
std::vector<uint64_t> blocked_bits(const Call& call, int64_t items) {
    std::vector<uint64_t> bits;
    if (call.allowed_count < 0 && !call.excluded_count) return bits;
    bits.assign(items / 64 + 1, call.allowed_count < 0 ? 0 : ~uint64_t(0));
    auto bit = [](int64_t item) { return uint64_t(1) << (item % 64); };
    for (int64_t i = 0; i < call.allowed_count; ++i) bits[call.allowed[i] / 64] &= ~bit(call.allowed[i]);
    for (int64_t i = 0; i < call.excluded_count; ++i) bits[call.excluded[i] / 64] |= bit(call.excluded[i]);
    return bits;
}

// Returns the first list of every batch, and the end. The lists of a batch share the loading of weights, but every
// thread needs some batches. The order of a sum may depend on the size of the batch; one thread and two threads use the
// same batches, so that their results are identical to the last bit.
std::vector<int64_t> batch_starts(const std::vector<Request>& requests, int64_t threads) {
    int64_t total = 0, tokens = 0;
    for (const Request& request : requests) total += request.length + request.count;
    int64_t limit = std::min(MAX_BATCH_TOKENS, total / (2 * std::max<int64_t>(2, threads)));
    std::vector<int64_t> starts;
    for (int64_t i = 0; i < int64_t(requests.size()); ++i) {
        if (starts.empty() || tokens >= limit) starts.push_back(i), tokens = 0;
        tokens += requests[i].length + requests[i].count;
    }
    starts.push_back(int64_t(requests.size()));
    return starts;
}

// A model that Python has opened.
struct OpenModel {
    const Model model;
    ScratchPool scratches;
};

void continue_batch(OpenModel& opened, int64_t mode, Batch& batch, Workspace& workspace, const ThreadPool& pool) {
    const Model& model = opened.model;
    if (model.kind == HYBRID)
        continue_hybrid(model, batch, mode == RECALL, opened.scratches, workspace, pool);
    else if (model.kind == LINEAR)
        continue_linear(model, batch, mode == AUTOREGRESSIVE, workspace);
    else if (model.kind == VSTAN)
        continue_vstan(model, batch, mode == AUTOREGRESSIVE, workspace);
    else if (model.kind == SASREC)
        continue_sasrec(model, batch, mode == AUTOREGRESSIVE, workspace, pool);
    else if (mode == AUTOREGRESSIVE)
        continue_autoregressive(model, batch, workspace, pool);
    else
        continue_one_pass(model, batch, mode == RECALL, workspace, pool);
}

class BatchedCall {
   public:
    BatchedCall(OpenModel& opened, const Call& call)
        : opened_(opened), call_(call), items_(opened.model.head.items), blocked_(blocked_bits(call, items_)) {
        rules_ = {blocked_.empty() ? nullptr : blocked_.data(), call.groups, call.max_per_group, call.min_score,
                  call.keep_seen != 0, call.allowed, call.allowed_count};
        for (int64_t i = 0, start = 0; i < call.lists; start += call.counts[i++]) {
            requests_.push_back({call.items + call.offsets[i], call.offsets[i + 1] - call.offsets[i], call.counts[i]});
            answer_starts_.push_back(start);
        }
    }

    Outcome run() {
        std::vector<int64_t> starts = batch_starts(requests_, call_.threads);
        int64_t batches = int64_t(starts.size()) - 1;
        std::atomic<bool> failed{false};
        ThreadPool all_threads(int(call_.threads)), one_thread(1);
        (batches > 1 ? all_threads : one_thread).run(batches, [&](int64_t b) {
            try {
                run_batch(starts[b], starts[b + 1], batches > 1 ? one_thread : all_threads);
            } catch (const std::exception&) {  // not enough memory, or a vector beyond the maximum size
                failed = true;
            }
        });
        return failed ? NO_MEMORY : DONE;
    }

   private:
    OpenModel& opened_;
    const Call& call_;
    int64_t items_;
    std::vector<uint64_t> blocked_;
    Rules rules_;
    std::vector<Request> requests_;
    std::vector<int64_t> answer_starts_;  // index of each list's first item in the answer

    void run_batch(int64_t first, int64_t last, const ThreadPool& pool) {
        thread_local Workspace workspace;
        workspace.clear();
        Batch batch;
        for (int64_t i = first; i < last; ++i) batch.emplace_back(rules_, items_, requests_[i], workspace);
        continue_batch(opened_, call_.mode, batch, workspace, pool);
        for (int64_t i = first; i < last; ++i)
            call_.answer_lengths[i] = batch[i - first].write(call_.answer_items + answer_starts_[i],
                                                                        call_.answer_scores + answer_starts_[i]);
    }
};

}  // namespace

// Opens a model and writes its handle. The structure is copied; what it points to must live until fans_close.
EXPORTED int fans_open(const Model* model, OpenModel** opened) {
    if (!model || !opened) return BAD_CALL;
    if (!is_valid(*model)) return BAD_MODEL;
    *opened = new (std::nothrow) OpenModel{*model, {}};
    return *opened ? DONE : NO_MEMORY;
}

EXPORTED void fans_close(OpenModel* opened) { delete opened; }

EXPORTED int fans_continue(OpenModel* opened, const Call* call) {
    if (!opened || !call || !is_valid(*call, opened->model.head.items)) return BAD_CALL;
    if (!has_known_items(*call, opened->model.head.items)) return UNKNOWN_ITEM;
    try {
        return BatchedCall(*opened, *call).run();
    } catch (const std::exception&) {
        return NO_MEMORY;
    }
}

// Returns the widest instruction set of this machine that a copy of the library is compiled for.
EXPORTED const char* fans_instructions() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (wide) return __builtin_cpu_supports("avx512vnni") ? "vnni" : "avx512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
#endif
    return "portable";
}
