// SASRec: a list is encoded from left to right, and the keys and values of its tokens are cached.
#include <algorithm>

#include "attention.h"
#include "checked.h"
#include "models.h"

namespace {

// The columns of a list among the tokens that are encoded now, and the position of the first of them in the list.
struct NewTokens {
    int64_t list, first, last, position;
};

class CachedEncoder {
   public:
    CachedEncoder(const Model& model, const Batch& batch, Workspace& workspace)
        : model_(model), e_(model.encoder), workspace_(workspace) {
        for (const Selection& selection : batch) {
            int64_t length = 1 + selection.request().length + selection.count();
            longest_ = std::max(longest_, length);
            for (int64_t l = 0; l < e_.layers; ++l) cache_.push_back(workspace.tiles(2 * e_.width, length));
        }
    }

    // Returns the hidden states of the tokens, one column each, and adds their keys and values to the cache.
    Tiles encode(const std::vector<Token>& tokens, const std::vector<NewTokens>& lists, const ThreadPool& pool) {
        int64_t D = e_.width, count = int64_t(tokens.size()), tiles = tiles_for(count);
        Tiles x = workspace_.tiles(D, count), y = workspace_.tiles(D, count), qkv = workspace_.tiles(3 * D, count);
        float* scores = workspace_.take<float>(tiles * longest_ * W);
        for (int64_t t = 0; t < tiles * W; ++t) embed(t < count ? &tokens[t] : nullptr, x, t);
        for (int64_t l = 0; l < e_.layers; ++l) {
            const CausalLayer& layer = model_.causal[l];
            pool.run(tiles, [&](int64_t s) {
                normalize_into(x, y, s, layer.attention_norm);
                apply(layer.qkv, 3 * D, D, y, qkv, s, s + 1);
            });
            for (const NewTokens& list : lists) append_to_cache(l, list, qkv);
            pool.run(tiles, [&](int64_t s) {
                attend_to_cache(l, lists, s, qkv, scores + s * longest_ * W, y);
                add(y, x, s);
                normalize_into(x, y, s, layer.feedforward_norm);
                apply(layer.first, D, D, y, qkv, s, s + 1, Epilogue::RELU);
                apply(layer.second, D, D, qkv, x, s, s + 1, Epilogue::ADD);
            });
        }
        normalize(x, D, 0, tiles, model_.last_norm);
        return x;
    }

   private:
    const Model& model_;
    const Encoder& e_;
    Workspace& workspace_;
    int64_t longest_ = 0;
    std::vector<Tiles> cache_;  // list after list, layer after layer: keys, then values

    void embed(const Token* token, Tiles x, int64_t column) const {
        for (int64_t d = 0; d < e_.width; ++d) {
            float sum = 0;
            if (token) {
                CHECK_INDEX(token->item, e_.tokens);
                if (e_.category_embedding) CHECK_INDEX(token->category, e_.category_rows);
                sum = e_.item_embedding[token->item * e_.width + d];
                if (e_.category_embedding) sum += e_.category_embedding[token->category * e_.width + d];
                sum += e_.position_embedding[std::min(token->position, e_.positions - 1) * e_.width + d];
            }
            x.at(d, column) = sum;
        }
    }

    void normalize_into(Tiles from, Tiles to, int64_t tile, Affine norm) const {
        std::copy(from.tile(tile), from.tile(tile) + e_.width * W, to.tile(tile));
        normalize(to, e_.width, tile, tile + 1, norm);
    }

    void add(Tiles terms, Tiles to, int64_t tile) const {
        float *sum = to.tile(tile), *term = terms.tile(tile);
        for (int64_t r = 0; r < e_.width * W; r += W) store(sum + r, load(sum + r) + load(term + r));
    }

    void append_to_cache(int64_t l, const NewTokens& list, Tiles qkv) const {
        Tiles cache = cache_[list.list * e_.layers + l];
        for (int64_t c = list.first; c < list.last; ++c)
            copy_column(qkv.rows_from(e_.width), c, cache, list.position + c - list.first, 2 * e_.width);
    }

    void attend_to_cache(int64_t l, const std::vector<NewTokens>& lists, int64_t s, Tiles qkv, float* scores,
                         Tiles out) const {
        std::fill(out.tile(s), out.tile(s) + e_.width * W, 0.0f);
        for (const NewTokens& list : lists) {
            int64_t from = std::max(list.first, s * W), to = std::min(list.last, (s + 1) * W);
            if (from >= to) continue;
            Tiles cache = cache_[list.list * e_.layers + l];
            int64_t position_of_lane_0 = list.position + s * W - list.first;
            Keys keys{cache, cache.rows_from(e_.width), 0, list.position + to - list.first};
            Queries queries{qkv.tile(s), out.tile(s), int(from - s * W), int(to - s * W), position_of_lane_0};
            attend(&queries, 1, keys, e_.heads, e_.width / e_.heads, scores);
        }
    }
};

}  // namespace

void continue_sasrec(const Model& model, Batch& batch, bool steps, Workspace& workspace, const ThreadPool& pool) {
    CachedEncoder encoder(model, batch, workspace);
    std::vector<Token> tokens;
    std::vector<NewTokens> lists;
    for (size_t i = 0; i < batch.size(); ++i) {
        const Request& request = batch[i].request();
        lists.push_back({int64_t(i), int64_t(tokens.size()), int64_t(tokens.size()) + 1 + request.length, 0});
        tokens.push_back(model.token(model.start(), 0, 0));
        for (int64_t p = 0; p < request.length; ++p) tokens.push_back(model.token(request.items[p], p + 1, 0));
    }
    for (int64_t step = 0; !lists.empty(); ++step) {
        auto mark = workspace.mark();
        Tiles x = encoder.encode(tokens, lists, pool);
        Tiles hidden = workspace.tiles(model.head.width, int64_t(lists.size()));
        std::vector<PositionRange> ranges;
        for (const NewTokens& list : lists) {
            int64_t column = int64_t(ranges.size());
            copy_column(x, list.last - 1, hidden, column, model.head.width);
            Selection& selection = batch[list.list];
            ranges.push_back({&selection, step, steps ? step + 1 : selection.count(), column, 1});
        }
        clear_padding(hidden, int64_t(ranges.size()), model.head.width);
        select_by_position(model.head, hidden, int64_t(ranges.size()), ranges, workspace, pool);
        workspace.release_to(mark);
        if (!steps) return;
        tokens.clear();
        std::vector<NewTokens> remaining;
        for (const NewTokens& list : lists) {
            const Selection& selection = batch[list.list];
            if (!selection.filled(step) || step + 1 == selection.count()) continue;
            int64_t position = list.position + list.last - list.first, column = int64_t(tokens.size());
            remaining.push_back({list.list, column, column + 1, position});
            tokens.push_back(model.token(selection.item(step), position, 0));
        }
        lists = remaining;
    }
}
