// FANS and BERT4Rec: masks stand where items are wanted, and the encoder says what belongs there.
#include "models.h"

namespace {

class MaskedTokens {
   public:
    // What a list has, then `masks` of them. FANS reads CLS input SEP masks SEP, BERT4Rec just the items and the masks.
    void add(const Model& model, const Question& question, const Picks& picks, int64_t taken, int64_t masks) {
        Span span{int64_t(tokens_.size()), 0, int64_t(asked_.size()), 0};
        place_ = 0;
        if (model.kind == FANS) put(model, model.start(), 0);
        for (int64_t i = 0; i < question.given; ++i) put(model, question.items[i], 0);
        for (int64_t i = 0; i < taken; ++i) put(model, picks.item(i), 0);
        if (model.kind == FANS) put(model, model.separator(), 0);
        for (int64_t i = 0; i < masks; ++i) {
            asked_.push_back(int64_t(tokens_.size()));
            put(model, model.mask(), model.kind == FANS);
        }
        if (model.kind == FANS) put(model, model.separator(), 1);
        span.last = int64_t(tokens_.size()), span.last_asked = int64_t(asked_.size());
        lists_.push_back(span);
    }

    int64_t asked() const { return int64_t(asked_.size()); }

    Strips encode(const Model& model, Workspace& room, const Crew& crew) const {
        Tokens all{tokens_.data(), int64_t(tokens_.size()), asked_.data(),
                   asked(),        lists_.data(),           int64_t(lists_.size())};
        return ::encode(model.encoder, all, room, crew);
    }

   private:
    std::vector<Token> tokens_;
    std::vector<int64_t> asked_;
    std::vector<Span> lists_;
    int64_t place_ = 0;

    void put(const Model& model, int64_t item, int64_t segment) {
        tokens_.push_back(model.token(item, place_++, segment));
    }
};

}  // namespace

void continue_in_one_pass(const Model& model, Batch& batch, bool shared, Workspace& room, const Crew& crew) {
    MaskedTokens tokens;
    std::vector<Asker> askers;
    for (int64_t i = 0; i < batch.size(); ++i) {
        Picks& picks = batch.picks[i];
        int64_t masks = shared ? 1 : picks.wanted();
        askers.push_back({&picks, 0, picks.wanted(), tokens.asked(), masks});
        tokens.add(model, batch.questions[i], picks, 0, masks);
    }
    Strips known = tokens.encode(model, room, crew);
    choose_by_position(model.head, known, tokens.asked(), askers, room, crew);
}

void continue_rereading(const Model& model, Batch& batch, Workspace& room, const Crew& crew) {
    std::vector<int64_t> going;
    for (int64_t i = 0; i < batch.size(); ++i) going.push_back(i);
    for (int64_t step = 0; !going.empty(); ++step) {
        auto mark = room.mark();
        MaskedTokens tokens;
        std::vector<Asker> askers;
        for (int64_t i : going) {
            askers.push_back({&batch.picks[i], step, step + 1, tokens.asked(), 1});
            tokens.add(model, batch.questions[i], batch.picks[i], step, 1);
        }
        Strips known = tokens.encode(model, room, crew);
        choose_by_position(model.head, known, tokens.asked(), askers, room, crew);
        std::vector<int64_t> still;
        for (int64_t i : going)
            if (batch.picks[i].filled(step) && step + 1 < batch.picks[i].wanted()) still.push_back(i);
        going = still;
        room.back_to(mark);
    }
}
