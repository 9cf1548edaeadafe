// The hybrid model: the encoder, then the weighted sum of network, list memory and linear part.
#include "hybrid.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "call.h"
#include "mixture.h"
#include "validation.h"

namespace {

constexpr int64_t MAX_MASKS_READ = 10;  // as in models/hybrid/model.py

// Buffers for one list, some as large as the catalog, and therefore kept between calls.
struct Scratch {
    SparseScores sparse;
    std::vector<uint64_t> bits;
    explicit Scratch(const Hybrid& hybrid)
        : sparse(hybrid.parts, hybrid.tied.items), bits(hybrid.tied.items / 64 + 1) {}
};

class HybridModel {
   public:
    explicit HybridModel(const Hybrid& hybrid) : hybrid_(hybrid) {}

    int64_t items() const { return hybrid_.tied.items; }

    void continue_list(const Call& call, const Request& request, Selection& selection, Workspace& workspace,
                       const ThreadPool& pool) {
        auto mark = workspace.mark();
        std::unique_ptr<Scratch> scratch = take_scratch();
        int64_t masks = call.mode == RECALL ? 1 : request.count;
        auto network = compute_parts(request, masks, scratch->sparse, workspace, pool);
        Shortlist shortlist(selection, call.groups, call.max_per_group, scratch->bits);
        Mixture mixture(hybrid_.tied, hybrid_.network_weight, *network, shortlist);
        mixture.offer_scored(scratch->sparse);
        mixture.offer_unscored();
        shortlist.select();
        return_scratch(std::move(scratch));
        workspace.release_to(mark);
    }

   private:
    const Hybrid hybrid_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Scratch>> scratches_;

    // The network and the list memory are independent of each other. One thread runs the encoder and then chunks of the
    // classifier while the other searches the neighbors; then both share the remaining work.
    std::unique_ptr<NetworkProbabilities> compute_parts(const Request& request, int64_t masks, SparseScores& sparse,
                                                        Workspace& workspace, const ThreadPool& pool) const {
        std::unique_ptr<NetworkProbabilities> network;
        std::atomic<bool> neighbors_found{false}, failed{false};
        int64_t chunk = 0;
        pool.run(2, [&](int64_t task) {
            try {
                if (task == 1) {
                    sparse.find_neighbors(request.items, request.length);
                    neighbors_found.store(true);
                    return;
                }
                network = run_network(request, masks, workspace);
                while (pool.threads > 1 && !neighbors_found.load() && chunk < network->chunks())
                    network->score_chunk(chunk++);
            } catch (const std::exception&) {
                failed.store(true);  // an exception must not leave a worker thread
            }
        });
        if (failed.load()) throw std::bad_alloc();
        constexpr int64_t PARTS = SparseScores::PARTS;
        pool.run(PARTS + network->chunks() - chunk, [&](int64_t task) {
            task < PARTS ? sparse.compute_part(task) : network->score_chunk(chunk + task - PARTS);
        });
        sparse.finish();
        network->finish();
        return network;
    }

    std::unique_ptr<Scratch> take_scratch() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            if (!scratches_.empty()) {
                std::unique_ptr<Scratch> scratch = std::move(scratches_.back());
                scratches_.pop_back();
                return scratch;
            }
        }
        return std::make_unique<Scratch>(hybrid_);
    }

    void return_scratch(std::unique_ptr<Scratch> scratch) {
        std::lock_guard<std::mutex> lock(mutex_);
        scratches_.push_back(std::move(scratch));
    }

    // Encodes CLS input SEP masks SEP; of many masks, MAX_MASKS_READ evenly spaced ones are read.
    std::unique_ptr<NetworkProbabilities> run_network(const Request& request, int64_t masks,
                                                      Workspace& workspace) const {
        const Model& model = *hybrid_.model;
        std::vector<Token> tokens{model.token(model.start(), 0, 0)};
        auto append = [&](int64_t item, int64_t segment) {
            tokens.push_back(model.token(item, int64_t(tokens.size()), segment));
        };
        for (int64_t i = 0; i < request.length; ++i) append(request.items[i], 0);
        append(model.separator(), 0);
        int64_t read = std::min(masks, MAX_MASKS_READ), first = int64_t(tokens.size());
        for (int64_t i = 0; i < masks; ++i) append(model.mask(), 1);
        append(model.separator(), 1);
        std::vector<int64_t> positions;
        for (int64_t i = 0; i < read; ++i)
            positions.push_back(first + int64_t((double(i) + 0.5) * (double(masks) / double(read))));
        Span all{0, int64_t(tokens.size()), 0, read};
        Tokens list{tokens.data(), int64_t(tokens.size()), positions.data(), read, &all, 1};
        Tiles hidden = encode(model.encoder, list, workspace, ThreadPool(1));
        return std::make_unique<NetworkProbabilities>(hybrid_.tied, hidden, read, workspace);
    }
};

}  // namespace

// Returns DONE if a model can be opened, BAD_MODEL if not, or BAD_CALL if the caller's structure has another size.
EXPORTED int fans_hybrid_check(const Hybrid* hybrid, int64_t size) {
    if (!hybrid || size != int64_t(sizeof(Hybrid)) || !hybrid->model) return BAD_CALL;
    const Model& model = *hybrid->model;
    bool valid = is_valid(hybrid->tied) && model.head.items == hybrid->tied.items &&
                 is_valid(model.encoder, model.categories_of, hybrid->tied.items) &&
                 model.encoder.width == hybrid->tied.width && is_valid(hybrid->parts, hybrid->tied.items);
    return valid ? DONE : BAD_MODEL;
}

// Opens a model and returns its handle, or null. The structure is copied; its arrays must live until fans_hybrid_close.
EXPORTED void* fans_hybrid_open(const Hybrid* hybrid, int64_t size) {
    return fans_hybrid_check(hybrid, size) == DONE ? new (std::nothrow) HybridModel(*hybrid) : nullptr;
}

EXPORTED void fans_hybrid_close(void* handle) { delete static_cast<HybridModel*>(handle); }

EXPORTED int fans_hybrid_continue(void* handle, const Call* call) {
    if (!handle || !call) return BAD_CALL;
    HybridModel& hybrid = *static_cast<HybridModel*>(handle);
    return run_call(*call, hybrid.items(), [&](Batch& batch, Workspace& workspace, const ThreadPool& pool) {
        for (int64_t i = 0; i < batch.size(); ++i)
            hybrid.continue_list(*call, batch.requests[i], batch.selections[i], workspace, pool);
    });
}
