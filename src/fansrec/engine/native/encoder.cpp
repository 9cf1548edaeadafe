#include "encoder.h"

#include <algorithm>

#include "attention.h"
#include "checked.h"

namespace {

// A token's embeddings are added up row by row and laid down as a column.
void embed(const Encoder& e, const Tokens& tokens, int64_t strip, Strips x) {
    int64_t end = std::min(tokens.count, (strip + 1) * W);
    for (int64_t t = strip * W; t < end; ++t) {
        const Token& token = tokens.tokens[t];
        CHECK_INDEX(token.item, e.tokens);
        CHECK_INDEX(token.segment, 2);
        if (e.categories) CHECK_INDEX(token.category, e.category_rows);
        const float* item = e.items + token.item * e.width;
        const float* place = e.places + std::min(token.place, e.positions - 1) * e.width;
        const float* segment = e.segments + token.segment * e.width;
        const float* category = e.categories ? e.categories + token.category * e.width : nullptr;
        float* column = &x.at(0, t);
        for (int64_t d = 0; d < e.width; ++d)
            column[d * W] = item[d] + place[d] + segment[d] + (category ? category[d] : 0.0f);
    }
    for (int64_t t = end; t < (strip + 1) * W; ++t)
        for (int64_t d = 0; d < e.width; ++d) x.at(d, t) = 0;
    normalise(x, e.width, strip, strip + 1, e.norm);
}

int64_t longest(const Tokens& tokens) {
    int64_t most = 0;
    for (int64_t i = 0; i < tokens.list_count; ++i)
        most = std::max(most, tokens.lists[i].last - tokens.lists[i].first);
    return most;
}

// Columns that go through a layer together, and the room of those who work on them.
class Pass {
   public:
    Pass(const Encoder& e, const Tokens& tokens, bool asked, Workspace& room, const Crew& crew)
        : e_(e),
          tokens_(tokens),
          asked_(asked),
          crew_(crew),
          parts_(strips_for(asked ? tokens.asked_count : tokens.count), crew.threads) {
        floats_ = W * (parts_.step * (e.width + e.feedforward) + QUERIES_AT_ONCE * longest(tokens));
        scratch_ = room.take<float>(floats_ * (crew.threads == 1 ? 1 : parts_.count));
    }

    // each(first, last, scratch) for parts of the strips.
    template <class Each>
    void run(Each&& each) const {
        crew_.run(parts_.count, [&](int64_t part) {
            each(parts_.first(part), parts_.last(part), scratch_ + (crew_.threads == 1 ? 0 : part * floats_));
        });
    }

    // A layer behind its queries, keys and values, in place: attention, then the two linear layers.
    void finish(const EncoderLayer& layer, Strips x, Strips queries, Strips qkv, int64_t first, int64_t last,
                float* scratch) const {
        int64_t D = e_.width;
        Strips mixed = local(scratch, D, first), wide = local(scratch + parts_.step * D * W, e_.feedforward, first);
        float* scores = scratch + parts_.step * (D + e_.feedforward) * W;
        for (int64_t i = 0; i < tokens_.list_count; ++i)
            attend_list(tokens_.lists[i], first, last, queries, qkv, scores, mixed);
        apply(layer.out, D, D, mixed, x, first, last, Then::ADD);
        normalise(x, D, first, last, layer.attention_norm);
        apply(layer.widen, e_.feedforward, D, x, wide, first, last, Then::GELU);
        apply(layer.narrow, D, e_.feedforward, wide, x, first, last, Then::ADD);
        normalise(x, D, first, last, layer.feedforward_norm);
    }

   private:
    const Encoder& e_;
    const Tokens& tokens_;
    const bool asked_;
    const Crew& crew_;
    const Parts parts_;
    int64_t floats_;
    float* scratch_;

    static Strips local(float* at, int64_t rows, int64_t first) { return {at - first * rows * W, rows * W}; }

    // The queries a list has in strips first to last look at all its tokens.
    void attend_list(const Span& list, int64_t first, int64_t last, Strips queries, Strips qkv, float* scores,
                     Strips out) const {
        int64_t D = e_.width, from = asked_ ? list.first_asked : list.first, to = asked_ ? list.last_asked : list.last;
        first = std::max(first, from / W), last = std::min(last, strips_for(to));
        for (int64_t s = first; s < last; s += QUERIES_AT_ONCE) {
            Queries here[QUERIES_AT_ONCE];
            int count = int(std::min<int64_t>(QUERIES_AT_ONCE, last - s));
            for (int i = 0; i < count; ++i) {
                int64_t lane_0 = (s + i) * W;
                here[i] = {queries.strip(s + i), out.strip(s + i), int(std::max<int64_t>(0, from - lane_0)),
                           int(std::min<int64_t>(W, to - lane_0))};
            }
            attend(here, count, {qkv.rows_from(D), qkv.rows_from(2 * D), list.first, list.last}, e_.heads, D / e_.heads,
                   scores);
        }
    }
};

}  // namespace

Strips encode(const Encoder& e, const Tokens& tokens, Workspace& room, const Crew& crew) {
    int64_t D = e.width, last = e.layers - 1;
    Strips out = room.strips(D, tokens.asked_count);
    auto mark = room.mark();
    Strips x = room.strips(D, tokens.count), queries = room.strips(D, tokens.asked_count);
    // Two, since one part of the tokens may be in the next layer when another still looks at this one's keys.
    Strips qkv[2] = {room.strips(3 * D, tokens.count), room.strips(3 * D, tokens.count)};
    Pass every(e, tokens, false, room, crew), asked(e, tokens, true, room, crew);

    // In the last layer only the tokens asked for have queries.
    auto project = [&](int64_t l, int64_t from, int64_t to) {
        int64_t skipped = l == last ? D : 0;
        apply(e.layer[l].qkv.from(skipped, D), 3 * D - skipped, D, x, qkv[l % 2].rows_from(skipped), from, to);
    };
    every.run([&](int64_t from, int64_t to, float*) {
        for (int64_t s = from; s < to; ++s) embed(e, tokens, s, x);
        project(0, from, to);
    });
    for (int64_t l = 0; l < last; ++l)
        every.run([&](int64_t from, int64_t to, float* scratch) {
            every.finish(e.layer[l], x, qkv[l % 2], qkv[l % 2], from, to, scratch);
            project(l + 1, from, to);
        });
    for (int64_t i = 0; i < tokens.asked_count; ++i) copy_column(x, tokens.asked[i], out, i, D);
    clear_behind(out, tokens.asked_count, D);
    asked.run([&](int64_t from, int64_t to, float* scratch) {
        const EncoderLayer& layer = e.layer[last];
        apply(layer.qkv, D, D, out, queries, from, to);
        asked.finish(layer, out, queries, qkv[last % 2], from, to, scratch);
    });
    room.back_to(mark);
    return out;
}
