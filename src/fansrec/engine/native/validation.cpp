#include <algorithm>
#include <cmath>

#include "call.h"

namespace {

// Limits far beyond any model, and small enough that no product of them overflows 64 bits.
constexpr int64_t MAX_ITEMS = int64_t(1) << 30;  // item indices are int32
constexpr int64_t MAX_WIDTH = int64_t(1) << 16;
constexpr int64_t MAX_LAYERS = int64_t(1) << 10;
constexpr int64_t MAX_POSITIONS = int64_t(1) << 24;
constexpr int64_t MAX_LISTS = int64_t(1) << 30;
constexpr int64_t MAX_MEMBERS = int64_t(1) << 40;
constexpr int64_t MAX_THREADS = int64_t(1) << 12;
constexpr int64_t SIDE_BY_SIDE = 16;  // items of rounded vectors

bool within(int64_t value, int64_t least, int64_t most) { return value >= least && value <= most; }

bool all_set(std::initializer_list<const void*> pointers) {
    return std::all_of(pointers.begin(), pointers.end(), [](const void* pointer) { return pointer; });
}

bool none_set(std::initializer_list<const void*> pointers) {
    return std::none_of(pointers.begin(), pointers.end(), [](const void* pointer) { return pointer; });
}

bool all_set(std::initializer_list<Affine> layers) {
    return std::all_of(layers.begin(), layers.end(), [](Affine layer) { return layer.weight && layer.bias; });
}

// Returns whether `offsets` divides `end` elements into `count` parts of at least `least` elements each.
bool are_offsets(const int64_t* offsets, int64_t count, int64_t end, int64_t least) {
    if (!offsets || offsets[0] != 0 || offsets[count] != end) return false;
    for (int64_t i = 0; i < count; ++i)
        if (offsets[i] > offsets[i + 1] || offsets[i + 1] - offsets[i] < least) return false;
    return true;
}

template <class Index>
bool all_below(const Index* indices, int64_t count, int64_t end) {
    return std::all_of(indices, indices + count, [&](Index index) { return index >= 0 && index < end; });
}

// Returns all_below(...) in checked builds, and true in others: for long arrays.
template <class Index>
bool all_below_if_checked(const Index* indices, int64_t count, int64_t end) {
#if defined(FANS_CHECKED)
    return all_below(indices, count, end);
#else
    (void)indices, (void)count, (void)end;
    return true;
#endif
}

bool is_valid(const EncoderLayer& layer) {
    return all_set({layer.qkv, layer.out, layer.attention_norm, layer.widen, layer.narrow, layer.feedforward_norm});
}

bool is_valid(const CausalLayer& layer) {
    return all_set({layer.attention_norm, layer.qkv, layer.feedforward_norm, layer.first, layer.second});
}

template <class Layer>
bool all_valid(const Layer* layers, int64_t count) {
    return layers && std::all_of(layers, layers + count, [](const Layer& layer) { return is_valid(layer); });
}

// Checks what all encoders have: sizes, embeddings, and a category for every token.
bool has_embeddings(const Encoder& e, const int64_t* categories_of, int64_t items) {
    bool sizes = within(items, 1, MAX_ITEMS) && within(e.width, 1, MAX_WIDTH) && within(e.layers, 1, MAX_LAYERS) &&
                 within(e.heads, 1, e.width) && e.width % e.heads == 0 && within(e.positions, 1, MAX_POSITIONS) &&
                 within(e.tokens, items + 4, MAX_ITEMS + 4) && within(e.category_rows, 0, MAX_ITEMS + 1);
    if (!sizes || !all_set({e.item_embedding, e.position_embedding, categories_of})) return false;
    if (!e.category_embedding != !e.category_rows || !within(e.causal, 0, 1)) return false;
    return !e.category_embedding || all_below(categories_of, items + 4, e.category_rows);
}

bool is_valid(const RoundedVectors& rounded, const int64_t* starts, int64_t categories) {
    if (!rounded.pairs) return true;
    if (!rounded.steps || !rounded.starts || rounded.starts[0] != 0) return false;
    for (int64_t c = 0; c < categories; ++c) {
        int64_t padded = rounded.starts[c + 1] - rounded.starts[c];
        if (padded % SIDE_BY_SIDE || padded < starts[c + 1] - starts[c]) return false;
    }
    return true;
}

bool is_valid(const Head& head, int64_t width) {
    if (head.width != width || !within(head.categories, 1, head.items) || !head.item.weight) return false;
    if (!are_offsets(head.starts, head.categories, head.items, 1)) return false;
    if (head.category.weight ? !all_set({head.category, head.transform, head.transform_norm}) : head.categories > 1)
        return false;
    if (head.local.weight && !all_set({head.local, head.local_norm})) return false;
    return is_valid(head.rounded, head.starts, head.categories);
}

bool is_valid(const ListMemory& m, int64_t items) {
    bool sizes = m.vocabulary == items && within(m.known, 1, MAX_LISTS) && within(m.members, 0, MAX_MEMBERS) &&
                 within(m.longest, 0, MAX_POSITIONS) && within(m.neighbors, 1, INT64_MAX);
    return sizes && all_set({m.items, m.places, m.lists, m.list_places}) &&
           are_offsets(m.starts, m.known, m.members, 0) && are_offsets(m.list_starts, items, m.members, 0) &&
           all_below_if_checked(m.items, m.members, items) && all_below_if_checked(m.lists, m.members, m.known) &&
           all_below_if_checked(m.places, m.members, m.longest + 1) &&
           all_below_if_checked(m.list_places, m.members, m.longest + 1);
}

bool is_valid(const LinearPart& linear, int64_t items) {
    return linear.vocabulary == items && within(linear.width, 1, MAX_WIDTH) &&
           all_set({linear.items, linear.weights}) &&
           all_below_if_checked(linear.items, items * linear.width, items);
}

bool is_valid(const LinearModel& linear, int64_t items) {
    const LinearPart& part = linear.weights;
    if (!within(items, 1, MAX_ITEMS) || part.vocabulary != items || !linear.base || !(part.decay > 0)) return false;
    if (part.width == 0) return true;
    if (!part.weights || !within(part.width, 1, items)) return false;
    return part.items ? all_below_if_checked(part.items, items * part.width, items) : part.width == items;
}

bool is_valid(const Vstan& vstan, int64_t items) {
    return within(items, 1, MAX_ITEMS) && is_valid(vstan.memory, items) && vstan.sample_size >= 0 &&
           all_set({vstan.list_factors, vstan.item_factors, vstan.base});
}

bool is_valid(const Encoder& e) {
    return within(e.feedforward, 1, MAX_WIDTH * 16) && e.segment_embedding && all_set({e.norm}) &&
           all_valid(e.layer, e.layers);
}

bool is_valid(const TiedClassifier& tied, int64_t items, int64_t width) {
    if (tied.items != items || tied.width != width) return false;
    if (!within(tied.categories, 1, items) || !are_offsets(tied.starts, tied.categories, items, 1)) return false;
    if (tied.category.weight ? !tied.category.bias || tied.read_categories < 1 : tied.categories > 1) return false;
    std::initializer_list<const void*> transform = {tied.transform.weight, tied.transform.bias,
                                                    tied.transform_norm.weight, tied.transform_norm.bias};
    return (all_set(transform) || none_set(transform)) && is_valid(tied.rounded, tied.starts, tied.categories) &&
           all_set({tied.item.weight, tied.item.bias, tied.scale, tied.prior, tied.highest_prior});
}

bool is_valid(const Hybrid& hybrid, int64_t items, int64_t width) {
    const SparseParts& parts = hybrid.parts;
    return is_valid(hybrid.tied, items, width) && hybrid.next_share >= 0 && hybrid.next_share <= 1 &&
           hybrid.read_masks >= 1 &&
           (!parts.memory || is_valid(*parts.memory, items)) &&
           (!parts.linear || is_valid(*parts.linear, items));
}

}  // namespace

bool is_valid(const Call& call, int64_t items) {
    bool sizes = within(call.mode, ONE_PASS, RECALL) && within(call.threads, 1, MAX_THREADS) &&
                 within(call.lists, 0, MAX_LISTS) && within(call.excluded_count, 0, MAX_MEMBERS) &&
                 within(call.allowed_count, -1, MAX_MEMBERS) && call.max_per_group >= 0;
    bool pointers = all_set({call.items, call.offsets, call.counts}) &&
                    all_set({call.answer_items, call.answer_scores, call.answer_lengths}) &&
                    (call.excluded || !call.excluded_count) && (call.allowed || call.allowed_count <= 0) &&
                    (call.groups || !call.max_per_group);
    if (!sizes || !pointers) return false;
    int64_t total = call.offsets[call.lists];
    if (!within(total, 0, MAX_MEMBERS) || !are_offsets(call.offsets, call.lists, total, 0)) return false;
    for (int64_t i = 0; i < call.lists; ++i)
        if (!within(call.counts[i], 1, items)) return false;
    return true;
}

bool has_known_items(const Call& call, int64_t items) {
    return all_below(call.items, call.offsets[call.lists], items) &&
           all_below(call.excluded, call.excluded_count, items) &&
           all_below(call.allowed, std::max<int64_t>(0, call.allowed_count), items);
}

bool is_valid(const Model& model) {
    const Encoder& encoder = model.encoder;
    int64_t items = model.head.items;
    if (model.kind == LINEAR) return model.linear && is_valid(*model.linear, items);
    if (model.kind == VSTAN) return model.vstan && is_valid(*model.vstan, items);
    if (!within(model.kind, FANS, HYBRID) || !has_embeddings(encoder, model.categories_of, items)) return false;
    if (model.kind == SASREC) {
        if (!all_valid(model.causal, encoder.layers) || !all_set({model.last_norm})) return false;
    } else if (!is_valid(encoder)) {
        return false;
    }
    if (model.kind == HYBRID) return model.hybrid && is_valid(*model.hybrid, items, encoder.width);
    return is_valid(model.head, encoder.width);
}
