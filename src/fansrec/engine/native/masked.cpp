// FANS and BERT4Rec: the encoder predicts the items at masked positions.
#include "models.h"

namespace {

class MaskedTokens {
   public:
    // Appends a list: its input, the first `selected` items selected, and `masks` masks. FANS encodes
    // CLS input SEP masks SEP, BERT4Rec the items and the masks only.
    void add(const Model& model, const Request& request, const Selection& selection, int64_t selected, int64_t masks) {
        Span span{int64_t(tokens_.size()), 0, int64_t(outputs_.size()), 0};
        position_ = 0;
        if (model.kind == FANS) append(model, model.start(), 0);
        for (int64_t i = 0; i < request.length; ++i) append(model, request.items[i], 0);
        for (int64_t i = 0; i < selected; ++i) append(model, selection.item(i), 0);
        if (model.kind == FANS) append(model, model.separator(), 0);
        for (int64_t i = 0; i < masks; ++i) {
            outputs_.push_back(int64_t(tokens_.size()));
            append(model, model.mask(), model.kind == FANS);
        }
        if (model.kind == FANS) append(model, model.separator(), 1);
        span.last = int64_t(tokens_.size()), span.last_output = int64_t(outputs_.size());
        lists_.push_back(span);
    }

    int64_t output_count() const { return int64_t(outputs_.size()); }

    Tiles encode(const Model& model, Workspace& workspace, const ThreadPool& pool) const {
        Tokens all{tokens_.data(), int64_t(tokens_.size()), outputs_.data(),
                   output_count(), lists_.data(),           int64_t(lists_.size())};
        return ::encode(model.encoder, all, workspace, pool);
    }

   private:
    std::vector<Token> tokens_;
    std::vector<int64_t> outputs_;
    std::vector<Span> lists_;
    int64_t position_ = 0;

    void append(const Model& model, int64_t item, int64_t segment) {
        tokens_.push_back(model.token(item, position_++, segment));
    }
};

}  // namespace

void continue_one_pass(const Model& model, Batch& batch, bool shared, Workspace& workspace, const ThreadPool& pool) {
    MaskedTokens tokens;
    std::vector<PositionRange> ranges;
    for (int64_t i = 0; i < batch.size(); ++i) {
        Selection& selection = batch.selections[i];
        int64_t masks = shared ? 1 : selection.count();
        ranges.push_back({&selection, 0, selection.count(), tokens.output_count(), masks});
        tokens.add(model, batch.requests[i], selection, 0, masks);
    }
    Tiles hidden = tokens.encode(model, workspace, pool);
    select_by_position(model.head, hidden, tokens.output_count(), ranges, workspace, pool);
}

void continue_autoregressive(const Model& model, Batch& batch, Workspace& workspace, const ThreadPool& pool) {
    std::vector<int64_t> remaining;
    for (int64_t i = 0; i < batch.size(); ++i) remaining.push_back(i);
    for (int64_t step = 0; !remaining.empty(); ++step) {
        auto mark = workspace.mark();
        MaskedTokens tokens;
        std::vector<PositionRange> ranges;
        for (int64_t i : remaining) {
            ranges.push_back({&batch.selections[i], step, step + 1, tokens.output_count(), 1});
            tokens.add(model, batch.requests[i], batch.selections[i], step, 1);
        }
        Tiles hidden = tokens.encode(model, workspace, pool);
        select_by_position(model.head, hidden, tokens.output_count(), ranges, workspace, pool);
        std::vector<int64_t> unfinished;
        for (int64_t i : remaining)
            if (batch.selections[i].filled(step) && step + 1 < batch.selections[i].count()) unfinished.push_back(i);
        remaining = unfinished;
        workspace.release_to(mark);
    }
}
