#include "call.h"

#include <algorithm>
#include <atomic>

#include "validation.h"

namespace {

constexpr int64_t MAX_BATCH_TOKENS = 768;  // so that the activations of a batch stay in the cache

bool all_known(const int64_t* items, int64_t count, int64_t item_count) {
    for (int64_t i = 0; i < count; ++i)
        if (items[i] < 0 || items[i] >= item_count) return false;
    return true;
}

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

class BatchedCall {
   public:
    BatchedCall(const Call& call, int64_t items, const BatchFunction& run)
        : call_(call), items_(items), run_(run), blocked_(blocked_bits(call, items)) {
        rules_ = {blocked_.empty() ? nullptr : blocked_.data(), call.groups, call.max_per_group, call.min_score,
                  call.keep_seen != 0};
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
    const Call& call_;
    int64_t items_;
    const BatchFunction& run_;
    std::vector<uint64_t> blocked_;
    Rules rules_;
    std::vector<Request> requests_;
    std::vector<int64_t> answer_starts_;  // index of each list's first item in the answer

    void run_batch(int64_t first, int64_t last, const ThreadPool& pool) {
        thread_local Workspace workspace;
        workspace.clear();
        Batch batch{&requests_[first], {}};
        for (int64_t i = first; i < last; ++i) {
            const Request& request = requests_[i];
            batch.selections.emplace_back(rules_, items_, request.items, request.length, request.count, workspace);
        }
        run_(batch, workspace, pool);
        for (int64_t i = first; i < last; ++i)
            call_.answer_lengths[i] = batch.selections[i - first].write(call_.answer_items + answer_starts_[i],
                                                                        call_.answer_scores + answer_starts_[i]);
    }
};

}  // namespace

Outcome run_call(const Call& call, int64_t items, const BatchFunction& run) {
    if (!is_valid(call, items)) return BAD_CALL;
    bool known = all_known(call.items, call.offsets[call.lists], items) &&
                 all_known(call.excluded, call.excluded_count, items) &&
                 all_known(call.allowed, std::max<int64_t>(0, call.allowed_count), items);
    if (!known) return UNKNOWN_ITEM;
    try {
        return BatchedCall(call, items, run).run();
    } catch (const std::exception&) {
        return NO_MEMORY;
    }
}
