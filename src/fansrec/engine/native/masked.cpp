// FANS, BERT4Rec and the hybrid model: the encoder predicts the items at masked positions.
#include <algorithm>
#include <atomic>

#include "mixture.h"
#include "models.h"

namespace {

// Appends a list: its input, the first `selected` items selected, and `masks` masks, of which `read` evenly spaced
// ones are read, after the last token of the input if `read_input`. BERT4Rec encodes the items and the masks only, the
// others CLS input SEP masks SEP.
void append(Tokens& to, const Model& model, const Selection& selection, int64_t selected, int64_t masks, int64_t read,
            bool read_input = false) {
    Span span{to.count(), 0, 0, to.output_count(), 0, 0};
    bool separated = model.kind != BERT4REC;
    auto add = [&](int64_t item, int64_t segment) {
        to.tokens.push_back(model.token(item, to.count() - span.first, segment));
    };
    if (separated) add(model.start(), 0);
    for (int64_t i = 0; i < selection.request().length; ++i) add(selection.request().items[i], 0);
    for (int64_t i = 0; i < selected; ++i) add(selection.item(i), 0);
    if (read_input) to.outputs.push_back(to.count() - 1);
    if (separated) add(model.separator(), 0);
    span.masks = to.count(), span.mask_outputs = to.output_count();
    for (int64_t i = 0; i < read; ++i)
        to.outputs.push_back(to.count() + int64_t((double(i) + 0.5) * (double(masks) / double(read))));
    for (int64_t i = 0; i < masks; ++i) add(model.mask(), separated);
    if (separated) add(model.separator(), 1);
    span.last = to.count(), span.last_output = to.output_count();
    to.lists.push_back(span);
}

// Runs the encoder for a list of the hybrid model and prepares the classifier at the columns that are read.
std::unique_ptr<NetworkProbabilities> encode_list(const Model& model, const Selection& selection, int64_t masks,
                                                  Workspace& workspace) {
    double next_share = model.hybrid->next_share;
    int64_t read = next_share < 1 ? std::min(masks, model.hybrid->read_masks) : 0;
    if (!read && model.encoder.causal) masks = 0;  // the input does not see them
    Tokens tokens;
    append(tokens, model, selection, 0, masks, read, next_share > 0);
    std::vector<float> inverse_weights;
    if (next_share > 0) inverse_weights.push_back(float(1 / next_share));
    inverse_weights.insert(inverse_weights.end(), read, float(double(read) / (1 - next_share)));
    Tiles hidden = encode(model.encoder, tokens, workspace, ThreadPool(1));
    return std::make_unique<NetworkProbabilities>(model.hybrid->tied, hidden, inverse_weights, workspace);
}

// Returns the probabilities of the network, or null if it has no weight, and computes the sparse scores. They are
// independent of each other: one thread runs the encoder and then chunks of the classifier while the other searches the
// neighbors; then both share the remaining work.
std::unique_ptr<NetworkProbabilities> compute_parts(const Model& model, const Selection& selection, int64_t masks,
                                                    SparseScores& sparse, Workspace& workspace,
                                                    const ThreadPool& pool) {
    std::unique_ptr<NetworkProbabilities> network;
    std::atomic<bool> neighbors_found{false}, failed{false};
    int64_t chunk = 0;
    pool.run(2, [&](int64_t task) {
        try {
            if (task == 1) {
                sparse.find_neighbors(selection.request().items, selection.request().length);
                neighbors_found.store(true);
                return;
            }
            if (model.hybrid->network_weight == 0) return;
            network = encode_list(model, selection, masks, workspace);
            while (pool.threads > 1 && !neighbors_found.load() && chunk < network->chunks())
                network->score_chunk(chunk++);
        } catch (const std::exception&) {
            failed.store(true);  // an exception must not leave a worker thread
        }
    });
    if (failed.load()) throw std::bad_alloc();
    constexpr int64_t PARTS = SparseScores::PARTS;
    pool.run(PARTS + (network ? network->chunks() - chunk : 0), [&](int64_t task) {
        task < PARTS ? sparse.compute_part(task) : network->score_chunk(chunk + task - PARTS);
    });
    sparse.finish();
    if (network) network->finish();
    return network;
}

}  // namespace

void continue_one_pass(const Model& model, Batch& batch, bool shared, Workspace& workspace, const ThreadPool& pool) {
    Tokens tokens;
    std::vector<PositionRange> ranges;
    for (Selection& selection : batch) {
        int64_t masks = shared ? 1 : selection.count();
        ranges.push_back({&selection, 0, selection.count(), tokens.output_count(), masks});
        append(tokens, model, selection, 0, masks, masks);
    }
    Tiles hidden = encode(model.encoder, tokens, workspace, pool);
    select_by_position(model.head, hidden, tokens.output_count(), ranges, workspace, pool);
}

void continue_autoregressive(const Model& model, Batch& batch, Workspace& workspace, const ThreadPool& pool) {
    std::vector<Selection*> remaining;
    for (Selection& selection : batch) remaining.push_back(&selection);
    for (int64_t step = 0; !remaining.empty(); ++step) {
        auto mark = workspace.mark();
        Tokens tokens;
        std::vector<PositionRange> ranges;
        for (Selection* selection : remaining) {
            ranges.push_back({selection, step, step + 1, tokens.output_count(), 1});
            append(tokens, model, *selection, step, 1, 1);
        }
        Tiles hidden = encode(model.encoder, tokens, workspace, pool);
        select_by_position(model.head, hidden, tokens.output_count(), ranges, workspace, pool);
        std::vector<Selection*> unfinished;
        for (Selection* selection : remaining)
            if (selection->filled(step) && step + 1 < selection->count()) unfinished.push_back(selection);
        remaining = unfinished;
        workspace.release_to(mark);
    }
}

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
    for (Selection& selection : batch) {
        auto mark = workspace.mark();
        std::unique_ptr<Scratch> scratch = scratches.take(*model.hybrid);
        int64_t masks = shared ? 1 : selection.count();
        auto network = compute_parts(model, selection, masks, scratch->sparse, workspace, pool);
        Shortlist shortlist(selection, scratch->bits, 0);  // no part gives a negative score
        Mixture mixture(model.hybrid->tied, model.hybrid->network_weight, network.get(), shortlist);
        mixture.offer_scored(scratch->sparse);
        mixture.offer_unscored();
        shortlist.select();
        scratches.give_back(std::move(scratch));
        workspace.release_to(mark);
    }
}
