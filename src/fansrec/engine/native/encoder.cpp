#include "encoder.h"

#include <algorithm>

#include "attention.h"
#include "checked.h"

namespace {

// Writes the normalized sums of the embeddings of one tile of tokens.
void embed(const Encoder& e, const Tokens& tokens, int64_t tile, Tiles x) {
    int64_t end = std::min(tokens.count(), (tile + 1) * W);
    for (int64_t t = tile * W; t < end; ++t) {
        const Token& token = tokens.tokens[t];
        CHECK_INDEX(token.item, e.tokens);
        CHECK_INDEX(token.segment, 2);
        if (e.category_embedding) CHECK_INDEX(token.category, e.category_rows);
        const float* item = e.item_embedding + token.item * e.width;
        const float* position = e.position_embedding + std::min(token.position, e.positions - 1) * e.width;
        const float* segment = e.segment_embedding + token.segment * e.width;
        const float* category = e.category_embedding ? e.category_embedding + token.category * e.width : nullptr;
        float* column = &x.at(0, t);
        for (int64_t d = 0; d < e.width; ++d)
            column[d * W] = item[d] + position[d] + segment[d] + (category ? category[d] : 0.0f);
    }
    for (int64_t t = end; t < (tile + 1) * W; ++t)
        for (int64_t d = 0; d < e.width; ++d) x.at(d, t) = 0;
    normalize(x, e.width, tile, tile + 1, e.norm);
}

int64_t longest(const Tokens& tokens) {
    int64_t length = 0;
    for (const Span& list : tokens.lists) length = std::max(length, list.last - list.first);
    return length;
}

// A set of columns that pass through a layer together (all tokens, or the outputs only), and its scratch memory.
class Pass {
   public:
    Pass(const Encoder& e, const Tokens& tokens, bool outputs_only, Workspace& workspace, const ThreadPool& pool)
        : e_(e),
          tokens_(tokens),
          outputs_only_(outputs_only),
          pool_(pool),
          parts_(tiles_for(outputs_only ? tokens.output_count() : tokens.count()), pool.threads) {
        floats_ = W * (parts_.step * (e.width + e.feedforward) + QUERY_TILES * longest(tokens));
        scratch_ = workspace.take<float>(floats_ * (pool.threads == 1 ? 1 : parts_.count));
    }

    // Calls each(first, last, scratch) for parts of the tiles, in parallel.
    template <class Each>
    void run(Each&& each) const {
        pool_.run(parts_.count, [&](int64_t part) {
            each(parts_.first(part), parts_.last(part), scratch_ + (pool_.threads == 1 ? 0 : part * floats_));
        });
    }

    // Applies the rest of a layer once queries, keys and values are known, in place: attention, then feed-forward.
    void finish(const EncoderLayer& layer, Tiles x, Tiles queries, Tiles qkv, int64_t first, int64_t last,
                float* scratch) const {
        int64_t D = e_.width;
        Tiles mixed = local_tiles(scratch, D, first);
        Tiles wide = local_tiles(scratch + parts_.step * D * W, e_.feedforward, first);
        float* scores = scratch + parts_.step * (D + e_.feedforward) * W;
        for (const Span& list : tokens_.lists) attend_list(list, first, last, queries, qkv, scores, mixed);
        apply(layer.out, D, D, mixed, x, first, last, Epilogue::ADD);
        normalize(x, D, first, last, layer.attention_norm);
        apply(layer.widen, e_.feedforward, D, x, wide, first, last, Epilogue::GELU);
        apply(layer.narrow, D, e_.feedforward, wide, x, first, last, Epilogue::ADD);
        normalize(x, D, first, last, layer.feedforward_norm);
    }

   private:
    const Encoder& e_;
    const Tokens& tokens_;
    const bool outputs_only_;
    const ThreadPool& pool_;
    const Partition parts_;
    int64_t floats_;
    float* scratch_;

    static Tiles local_tiles(float* at, int64_t rows, int64_t first) { return {at - first * rows * W, rows * W}; }

    // Returns the queries of a list in a tile.
    Queries queries_of(const Span& list, int64_t tile, Tiles queries, Tiles out) const {
        int64_t lane_0 = tile * W, first = outputs_only_ ? list.first_output : list.first;
        auto lane = [&](int64_t column) { return int(std::clamp<int64_t>(column - lane_0, 0, W)); };
        Queries here{queries.tile(tile), out.tile(tile), lane(first),
                     lane(outputs_only_ ? list.last_output : list.last)};
        if (!e_.causal) return here;
        here.last_key = (outputs_only_ ? tokens_.outputs[first] : first) - first + lane_0;
        here.sees_all = lane(outputs_only_ ? list.mask_outputs : list.masks);
        return here;
    }

    // Attends with the queries of a list in tiles first to last to the tokens of the list that they see.
    void attend_list(const Span& list, int64_t first, int64_t last, Tiles queries, Tiles qkv, float* scores,
                     Tiles out) const {
        int64_t D = e_.width;
        int64_t from = outputs_only_ ? list.first_output : list.first;
        int64_t to = outputs_only_ ? list.last_output : list.last;
        first = std::max(first, from / W), last = std::min(last, tiles_for(to));
        for (int64_t s = first; s < last; s += QUERY_TILES) {
            Queries here[QUERY_TILES];
            int count = int(std::min<int64_t>(QUERY_TILES, last - s));
            for (int i = 0; i < count; ++i) here[i] = queries_of(list, s + i, queries, out);
            const Queries& latest = here[count - 1];
            int64_t seen = latest.sees_all == W ? std::min(list.last, latest.last_key + W) : list.last;
            attend(here, count, {qkv.rows_from(D), qkv.rows_from(2 * D), list.first, seen}, e_.heads, D / e_.heads,
                   scores);
        }
    }
};

}  // namespace

Tiles encode(const Encoder& e, const Tokens& tokens, Workspace& workspace, const ThreadPool& pool) {
    int64_t D = e.width, last = e.layers - 1;
    Tiles out = workspace.tiles(D, tokens.output_count());
    auto mark = workspace.mark();
    Tiles x = workspace.tiles(D, tokens.count()), queries = workspace.tiles(D, tokens.output_count());
    // Two buffers: one part of the tokens may be in the next layer while another still reads the keys of this one.
    Tiles qkv[2] = {workspace.tiles(3 * D, tokens.count()), workspace.tiles(3 * D, tokens.count())};
    Pass all(e, tokens, false, workspace, pool), outputs(e, tokens, true, workspace, pool);

    // In the last layer, queries are computed for the outputs only (below).
    auto project = [&](int64_t l, int64_t from, int64_t to) {
        int64_t skipped = l == last ? D : 0;
        apply(e.layer[l].qkv.from(skipped, D), 3 * D - skipped, D, x, qkv[l % 2].rows_from(skipped), from, to);
    };
    all.run([&](int64_t from, int64_t to, float*) {
        for (int64_t s = from; s < to; ++s) embed(e, tokens, s, x);
        project(0, from, to);
    });
    for (int64_t l = 0; l < last; ++l)
        all.run([&](int64_t from, int64_t to, float* scratch) {
            all.finish(e.layer[l], x, qkv[l % 2], qkv[l % 2], from, to, scratch);
            project(l + 1, from, to);
        });
    for (int64_t i = 0; i < tokens.output_count(); ++i) copy_column(x, tokens.outputs[i], out, i, D);
    clear_padding(out, tokens.output_count(), D);
    outputs.run([&](int64_t from, int64_t to, float* scratch) {
        const EncoderLayer& layer = e.layer[last];
        apply(layer.qkv, D, D, out, queries, from, to);
        outputs.finish(layer, out, queries, qkv[last % 2], from, to, scratch);
    });
    workspace.release_to(mark);
    return out;
}
