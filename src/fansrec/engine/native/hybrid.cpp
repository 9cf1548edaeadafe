// The hybrid model: network, list memory and linear part, whose scores are mixed.
#include <algorithm>
#include <atomic>
#include <thread>

#include "masked.h"
#include "mixture.h"

namespace {

constexpr int64_t MAX_FEW = 1000;  // items of which each is scored by itself if no others are allowed

// The hidden states that are read, list after list, and the weight of each column as 1 / weight.
struct EncodedLists {
    Tiles hidden;
    std::vector<Span> lists;
    std::vector<float> inverse_weights;
};

// Runs the encoder for all lists of a batch, which share the loading of weights.
EncodedLists encode_lists(const Model& model, const Batch& batch, bool shared, Workspace& workspace) {
    double next_share = model.hybrid->next_share;
    Tokens tokens;
    std::vector<float> inverse_weights;
    for (const Selection& selection : batch) {
        int64_t masks = shared ? 1 : selection.count();
        int64_t read = next_share < 1 ? std::min(masks, model.hybrid->read_masks) : 0;
        if (!read && model.encoder.causal) masks = 0;  // the input does not see them
        append(tokens, model, selection, 0, masks, read, next_share > 0);
        if (next_share > 0) inverse_weights.push_back(float(1 / next_share));
        inverse_weights.insert(inverse_weights.end(), read, float(double(read) / (1 - next_share)));
    }
    Tiles hidden = encode(model.encoder, tokens, workspace, ThreadPool(1));
    return {hidden, std::move(tokens.lists), std::move(inverse_weights)};
}

// Prepares the classifier at the columns of list `index`.
std::unique_ptr<NetworkProbabilities> classify(const Model& model, const EncodedLists& encoded, int64_t index,
                                               Workspace& workspace) {
    const Span& list = encoded.lists[index];
    int64_t columns = list.last_output - list.first_output, D = model.encoder.width;
    Tiles hidden = workspace.tiles(D, columns);
    for (int64_t i = 0; i < columns; ++i) copy_column(encoded.hidden, list.first_output + i, hidden, i, D);
    clear_padding(hidden, columns, D);
    auto weights = encoded.inverse_weights.begin();
    return std::make_unique<NetworkProbabilities>(
        model.hybrid->tied, hidden, std::vector<float>(weights + list.first_output, weights + list.last_output),
        workspace);
}

// The scores of one list, computed by two threads at most. The parts are independent of each other: one thread runs the
// network while the other one works through list memory and linear part. Whichever finishes first takes work of the
// other: the sums of the linear part, or chunks of the classifier.
class PartsOfList {
   public:
    PartsOfList(const Selection& selection, SparseScores& sparse) : sparse_(sparse) {
        sparse.start(selection.request().items, selection.request().length);
    }

    // Computes all scores; make_network() returns the network of the list, or null if it has no weight.
    template <class MakeNetwork>
    std::unique_ptr<NetworkProbabilities> compute(const ThreadPool& pool, MakeNetwork&& make_network) {
        pool.run(2, [&](int64_t task) {
            try {
                task == 0 ? run_network(make_network) : run_sparse();
            } catch (const std::exception&) {
                failed_.store(true);  // an exception must not leave a worker thread
            }
            (task == 0 ? network_ended_ : sparse_ended_).store(true);
        });
        if (failed_.load()) throw std::bad_alloc();
        if (!network_) return nullptr;
        pool.run(network_->chunks() - chunk_, [&](int64_t task) { network_->score_chunk(chunk_ + task); });
        network_->finish();
        return std::move(network_);
    }

   private:
    SparseScores& sparse_;
    std::unique_ptr<NetworkProbabilities> network_;
    int64_t chunk_ = 0;  // the first one that is not scored
    std::atomic<bool> linear_taken_{false}, linear_ended_{false};
    std::atomic<bool> network_ended_{false}, sparse_ended_{false}, failed_{false};

    template <class MakeNetwork>
    void run_network(MakeNetwork&& make_network) {
        network_ = make_network();
        while (network_ && chunk_ < network_->chunks() && !sparse_ended_.load()) network_->score_chunk(chunk_++);
        add_linear_once();
    }

    void run_sparse() {
        sparse_.find_neighbors();
        sparse_.add_votes();
        add_linear_once();
        while (!linear_ended_.load() && !network_ended_.load()) std::this_thread::yield();
        sparse_.finish();
    }

    void add_linear_once() {
        if (linear_taken_.exchange(true)) return;
        sparse_.add_linear();
        linear_ended_.store(true);
    }
};

}  // namespace

std::unique_ptr<Scratch> ScratchPool::take(const Hybrid& hybrid) {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!scratches_.empty()) {
            std::unique_ptr<Scratch> scratch = std::move(scratches_.back());
            scratches_.pop_back();
            return scratch;
        }
    }
    return std::make_unique<Scratch>(hybrid);
}

void ScratchPool::give_back(std::unique_ptr<Scratch> scratch) {
    std::lock_guard<std::mutex> lock(mutex_);
    scratches_.push_back(std::move(scratch));
}

void continue_hybrid(const Model& model, Batch& batch, bool shared, ScratchPool& scratches, Workspace& workspace,
                     const ThreadPool& pool) {
    const bool has_network = model.hybrid->network_weight != 0;
    EncodedLists encoded;
    auto encode_batch = [&] { encoded = encode_lists(model, batch, shared, workspace); };
    if (has_network && batch.size() > 1) encode_batch();
    for (size_t i = 0; i < batch.size(); ++i) {
        auto mark = workspace.mark();
        std::unique_ptr<Scratch> scratch = scratches.take(*model.hybrid);
        auto network = PartsOfList(batch[i], scratch->sparse).compute(pool, [&] {
            if (has_network && batch.size() == 1) encode_batch();
            return has_network ? classify(model, encoded, int64_t(i), workspace) : nullptr;
        });
        Shortlist shortlist(batch[i], scratch->bits, 0);  // no part gives a negative score
        Mixture mixture(model.hybrid->tied, model.hybrid->network_weight, network.get(), shortlist);
        const Rules& rules = batch[i].rules();
        if (rules.allowed_count >= 0 && rules.allowed_count <= MAX_FEW) {
            mixture.offer_few(scratch->sparse, rules.allowed, rules.allowed_count);
        } else {
            mixture.offer_scored(scratch->sparse);
            mixture.offer_unscored();
        }
        shortlist.select();
        scratches.give_back(std::move(scratch));
        workspace.release_to(mark);
    }
}
