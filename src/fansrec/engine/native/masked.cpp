// FANS and BERT4Rec: the encoder predicts the items at masked positions.
#include "masked.h"

void append(Tokens& to, const Model& model, const Selection& selection, int64_t selected, int64_t masks, int64_t read,
            bool read_input) {
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
