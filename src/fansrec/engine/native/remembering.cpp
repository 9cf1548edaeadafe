// SASRec: a list is read from left to right, and keys and values of what was read are kept.
#include <algorithm>

#include "attention.h"
#include "checked.h"
#include "models.h"

namespace {

// A list's columns among those read now, and where the first of them stands in the list.
struct Reading {
    int64_t list, first, last, place;
};

class Reader {
   public:
    Reader(const Model& model, const Batch& batch, Workspace& room) : model_(model), e_(model.encoder), room_(room) {
        for (int64_t i = 0; i < batch.size(); ++i) {
            int64_t most = 1 + batch.questions[i].given + batch.picks[i].wanted();
            longest_ = std::max(longest_, most);
            for (int64_t l = 0; l < e_.layers; ++l) memory_.push_back(room.strips(2 * e_.width, most));
        }
    }

    // What is known at each of these tokens, one column each.
    Strips read(const std::vector<Token>& tokens, const std::vector<Reading>& readings, const Crew& crew) {
        int64_t D = e_.width, strips = strips_for(int64_t(tokens.size()));
        Strips x = room_.strips(D, int64_t(tokens.size())), normal = room_.strips(D, int64_t(tokens.size()));
        Strips qkv = room_.strips(3 * D, int64_t(tokens.size()));
        float* scores = room_.take<float>(strips * longest_ * W);
        for (int64_t t = 0; t < strips * W; ++t) embed(t < int64_t(tokens.size()) ? &tokens[t] : nullptr, x, t);
        for (int64_t l = 0; l < e_.layers; ++l) {
            const CausalLayer& layer = model_.causal[l];
            crew.run(strips, [&](int64_t s) {
                normalised(x, normal, s, layer.attention_norm);
                apply(layer.qkv, 3 * D, D, normal, qkv, s, s + 1);
            });
            for (const Reading& reading : readings) remember(l, reading, qkv);
            crew.run(strips, [&](int64_t s) {
                look_back(l, readings, s, qkv, scores + s * longest_ * W, normal);
                add(normal, x, s);
                normalised(x, normal, s, layer.feedforward_norm);
                apply(layer.first, D, D, normal, qkv, s, s + 1, Then::RELU);
                apply(layer.second, D, D, qkv, x, s, s + 1, Then::ADD);
            });
        }
        normalise(x, D, 0, strips, model_.last_norm);
        return x;
    }

   private:
    const Model& model_;
    const Encoder& e_;
    Workspace& room_;
    int64_t longest_ = 0;
    std::vector<Strips> memory_;  // list after list, layer after layer: keys, then values

    void embed(const Token* token, Strips x, int64_t column) const {
        for (int64_t d = 0; d < e_.width; ++d) {
            float sum = 0;
            if (token) {
                CHECK_INDEX(token->item, e_.tokens);
                if (e_.categories) CHECK_INDEX(token->category, e_.category_rows);
                sum = e_.items[token->item * e_.width + d];
                if (e_.categories) sum += e_.categories[token->category * e_.width + d];
                sum += e_.places[std::min(token->place, e_.positions - 1) * e_.width + d];
            }
            x.at(d, column) = sum;
        }
    }

    void normalised(Strips from, Strips to, int64_t s, Norm norm) const {
        std::copy(from.strip(s), from.strip(s) + e_.width * W, to.strip(s));
        normalise(to, e_.width, s, s + 1, norm);
    }

    void add(Strips what, Strips to, int64_t s) const {
        float *sum = to.strip(s), *more = what.strip(s);
        for (int64_t r = 0; r < e_.width * W; r += W) store(sum + r, load(sum + r) + load(more + r));
    }

    void remember(int64_t l, const Reading& reading, Strips qkv) const {
        Strips memory = memory_[reading.list * e_.layers + l];
        for (int64_t c = reading.first; c < reading.last; ++c)
            copy_column(qkv.rows_from(e_.width), c, memory, reading.place + c - reading.first, 2 * e_.width);
    }

    void look_back(int64_t l, const std::vector<Reading>& readings, int64_t s, Strips qkv, float* scores,
                   Strips out) const {
        std::fill(out.strip(s), out.strip(s) + e_.width * W, 0.0f);
        for (const Reading& r : readings) {
            int64_t from = std::max(r.first, s * W), to = std::min(r.last, (s + 1) * W);
            if (from >= to) continue;
            Strips memory = memory_[r.list * e_.layers + l];
            int64_t place_of_lane_0 = r.place + s * W - r.first;
            Keys keys{memory, memory.rows_from(e_.width), 0, r.place + to - r.first};
            Queries asked{qkv.strip(s), out.strip(s), int(from - s * W), int(to - s * W), place_of_lane_0};
            attend(&asked, 1, keys, e_.heads, e_.width / e_.heads, scores);
        }
    }
};

}  // namespace

void continue_remembering(const Model& model, Batch& batch, bool steps, Workspace& room, const Crew& crew) {
    Reader reader(model, batch, room);
    std::vector<Token> tokens;
    std::vector<Reading> readings;
    for (int64_t i = 0; i < batch.size(); ++i) {
        const Question& question = batch.questions[i];
        readings.push_back({i, int64_t(tokens.size()), int64_t(tokens.size()) + 1 + question.given, 0});
        tokens.push_back(model.token(model.start(), 0, 0));
        for (int64_t p = 0; p < question.given; ++p) tokens.push_back(model.token(question.items[p], p + 1, 0));
    }
    for (int64_t step = 0; !readings.empty(); ++step) {
        auto mark = room.mark();
        Strips x = reader.read(tokens, readings, crew);
        Strips known = room.strips(model.head.width, int64_t(readings.size()));
        std::vector<Asker> askers;
        for (const Reading& r : readings) {
            int64_t column = int64_t(askers.size());
            copy_column(x, r.last - 1, known, column, model.head.width);
            askers.push_back({&batch.picks[r.list], step, steps ? step + 1 : batch.picks[r.list].wanted(), column, 1});
        }
        clear_behind(known, int64_t(askers.size()), model.head.width);
        choose_by_position(model.head, known, int64_t(askers.size()), askers, room, crew);
        room.back_to(mark);
        if (!steps) return;
        tokens.clear();
        std::vector<Reading> going;
        for (const Reading& r : readings) {
            const Picks& picks = batch.picks[r.list];
            if (!picks.filled(step) || step + 1 == picks.wanted()) continue;
            int64_t place = r.place + r.last - r.first, column = int64_t(tokens.size());
            going.push_back({r.list, column, column + 1, place});
            tokens.push_back(model.token(picks.item(step), place, 0));
        }
        readings = going;
    }
}
