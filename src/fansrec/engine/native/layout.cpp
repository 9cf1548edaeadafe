// The layout of the structures that Python passes: library.py compares it with its own (structures.py), field by field.
#include <cstddef>

#include "call.h"
#include "hybrid.h"

namespace {

struct Field {
    const char *structure, *name;  // an empty name: the structure as a whole
    int64_t offset, size;
};

#define WHOLE(structure) {#structure, "", 0, sizeof(structure)}
#define FIELD(structure, name) {#structure, #name, offsetof(structure, name), sizeof(structure::name)}

// clang-format off
const Field FIELDS[] = {
    WHOLE(Linear), FIELD(Linear, weight), FIELD(Linear, bias),
    WHOLE(Norm), FIELD(Norm, weight), FIELD(Norm, bias),
    WHOLE(EncoderLayer), FIELD(EncoderLayer, qkv), FIELD(EncoderLayer, out), FIELD(EncoderLayer, attention_norm),
    FIELD(EncoderLayer, widen), FIELD(EncoderLayer, narrow), FIELD(EncoderLayer, feedforward_norm),
    WHOLE(CausalLayer), FIELD(CausalLayer, attention_norm), FIELD(CausalLayer, qkv),
    FIELD(CausalLayer, feedforward_norm), FIELD(CausalLayer, first), FIELD(CausalLayer, second),
    WHOLE(Encoder), FIELD(Encoder, width), FIELD(Encoder, layers), FIELD(Encoder, heads), FIELD(Encoder, feedforward),
    FIELD(Encoder, positions), FIELD(Encoder, tokens), FIELD(Encoder, category_rows), FIELD(Encoder, item_embedding),
    FIELD(Encoder, category_embedding), FIELD(Encoder, position_embedding), FIELD(Encoder, segment_embedding),
    FIELD(Encoder, norm), FIELD(Encoder, layer),
    WHOLE(Head), FIELD(Head, items), FIELD(Head, categories), FIELD(Head, width), FIELD(Head, starts),
    FIELD(Head, transform), FIELD(Head, transform_norm), FIELD(Head, category), FIELD(Head, local),
    FIELD(Head, local_norm), FIELD(Head, item), FIELD(Head, halves), FIELD(Head, half_starts), FIELD(Head, longest),
    WHOLE(Model), FIELD(Model, kind), FIELD(Model, categories_of), FIELD(Model, encoder), FIELD(Model, causal),
    FIELD(Model, last_norm), FIELD(Model, head),
    WHOLE(Call), FIELD(Call, mode), FIELD(Call, threads), FIELD(Call, lists), FIELD(Call, items),
    FIELD(Call, offsets), FIELD(Call, counts), FIELD(Call, excluded_count), FIELD(Call, allowed_count),
    FIELD(Call, excluded), FIELD(Call, allowed), FIELD(Call, groups), FIELD(Call, max_per_group),
    FIELD(Call, keep_seen), FIELD(Call, min_score), FIELD(Call, answer_items), FIELD(Call, answer_scores),
    FIELD(Call, answer_lengths),
    WHOLE(ItemVectors), FIELD(ItemVectors, weight), FIELD(ItemVectors, bias), FIELD(ItemVectors, width),
    FIELD(ItemVectors, halves), FIELD(ItemVectors, longest),
    WHOLE(TiedClassifier), FIELD(TiedClassifier, items), FIELD(TiedClassifier, categories),
    FIELD(TiedClassifier, read_categories), FIELD(TiedClassifier, width), FIELD(TiedClassifier, starts),
    FIELD(TiedClassifier, transform), FIELD(TiedClassifier, transform_norm), FIELD(TiedClassifier, category),
    FIELD(TiedClassifier, item), FIELD(TiedClassifier, scale), FIELD(TiedClassifier, prior),
    FIELD(TiedClassifier, highest_prior),
    WHOLE(ListMemory), FIELD(ListMemory, items), FIELD(ListMemory, places), FIELD(ListMemory, starts),
    FIELD(ListMemory, lists), FIELD(ListMemory, list_places), FIELD(ListMemory, list_starts),
    FIELD(ListMemory, known), FIELD(ListMemory, longest), FIELD(ListMemory, vocabulary), FIELD(ListMemory, members),
    FIELD(ListMemory, sharpness), FIELD(ListMemory, recency), FIELD(ListMemory, before), FIELD(ListMemory, near),
    FIELD(ListMemory, aligned), FIELD(ListMemory, neighbors),
    WHOLE(LinearPart), FIELD(LinearPart, items), FIELD(LinearPart, weights), FIELD(LinearPart, width),
    FIELD(LinearPart, vocabulary), FIELD(LinearPart, decay),
    WHOLE(SparseParts), FIELD(SparseParts, memory), FIELD(SparseParts, linear), FIELD(SparseParts, memory_weight),
    FIELD(SparseParts, linear_weight),
    WHOLE(Hybrid), FIELD(Hybrid, model), FIELD(Hybrid, tied), FIELD(Hybrid, parts), FIELD(Hybrid, network_weight),
    {nullptr, nullptr, 0, 0},
};
// clang-format on

}  // namespace

// Returns the fields of all structures; the last entry has no structure.
EXPORTED const Field* fans_layout() { return FIELDS; }
