// Items by their ids: a hash table with open addressing over the column of ids. A lookup waits mostly for memory, so
// ids are looked up in groups, and the memory of a whole group is requested before any of it is used.
#include <algorithm>
#include <cstring>

#include "call.h"
#include "item_ids.h"

namespace {

constexpr int64_t SIDE_BY_SIDE = 32;  // ids

uint64_t mix(uint64_t value) {
    unsigned __int128 product = static_cast<unsigned __int128>(value) * 0x9E3779B97F4A7C15u;
    return uint64_t(product >> 64) ^ uint64_t(product);
}

uint64_t hash_of(const char* text, int64_t size, uint64_t seed) {
    uint64_t hash = mix(seed ^ uint64_t(size)), word = 0;
    for (; size >= 8; text += 8, size -= 8) {
        std::memcpy(&word, text, 8);
        hash = mix(hash ^ word);
    }
    word = 0;
    std::memcpy(&word, text, size_t(size));
    return mix(hash ^ word ^ seed);
}

// A slot is 0, or has item + 1 in its low bits and bits of the item's hash above: most other items differ in these.
struct Slots {
    const ItemIds& ids;
    uint64_t hash;
    uint64_t position = hash & uint64_t(ids.mask);
    uint32_t items = (uint32_t(1) << ids.bits) - 1;
    uint32_t mark = uint32_t(hash >> 32) & ~items;

    uint32_t here() const { return ids.slots[position]; }
    void next() { position = (position + 1) & uint64_t(ids.mask); }
    bool may_match() const { return (here() & ~items) == mark; }
    int64_t item() const { return int64_t(here() & items) - 1; }
};

struct Text {
    const char* start;
    int64_t size;
};

int64_t find(const ItemIds& ids, const Text& text, uint64_t hash) {
    for (Slots slots{ids, hash}; slots.here(); slots.next()) {
        if (!slots.may_match()) continue;
        int64_t item = slots.item(), start = ids.ends[item];
        if (ids.ends[item + 1] - start == text.size &&
            !std::memcmp(ids.content + start, text.start, size_t(text.size)))
            return item;
    }
    return -1;
}

int64_t find_group(const ItemIds& ids, const Text* texts, int64_t count, int64_t* found) {
    uint64_t hashes[SIDE_BY_SIDE];
    for (int64_t i = 0; i < count; ++i) {
        hashes[i] = hash_of(texts[i].start, texts[i].size, uint64_t(ids.seed));
        __builtin_prefetch(ids.slots + (hashes[i] & uint64_t(ids.mask)));
    }
    auto first = [&](int64_t i) { return std::max<int64_t>(0, Slots{ids, hashes[i]}.item()); };
    for (int64_t i = 0; i < count; ++i) __builtin_prefetch(ids.ends + first(i));
    for (int64_t i = 0; i < count; ++i) __builtin_prefetch(ids.content + ids.ends[first(i)]);
    for (int64_t i = 0; i < count; ++i) found[i] = find(ids, texts[i], hashes[i]);
    return std::count(found, found + count, -1);
}

}  // namespace

// Fills the slots, which are 0; the ids are distinct, none is missing, and there are more slots than ids.
EXPORTED void fans_index_ids(const ItemIds* ids) {
    for (int64_t item = 0; item < ids->items; ++item) {
        int64_t start = ids->ends[item];
        Slots slots{*ids, hash_of(ids->content + start, ids->ends[item + 1] - start, uint64_t(ids->seed))};
        while (slots.here()) slots.next();
        ids->slots[slots.position] = slots.mark | uint32_t(item + 1);
    }
}

// Finds `count` ids that stand in `text` with a zero byte between two of them, and writes the item of each to `found`,
// or -1. Returns how many are unknown, or -1 if the text does not have as many parts.
EXPORTED int64_t fans_items_of_ids(const ItemIds* ids, const char* text, int64_t size, int64_t count, int64_t* found) {
    if (std::count(text, text + size, '\0') != count - 1) return -1;
    const char* end = text + size;
    int64_t unknown = 0;
    Text group[SIDE_BY_SIDE];
    for (int64_t done = 0; done < count; done += SIDE_BY_SIDE) {
        int64_t here = std::min(SIDE_BY_SIDE, count - done);
        for (int64_t i = 0; i < here; ++i) {
            const void* zero = std::memchr(text, 0, size_t(end - text));
            const char* after = zero ? static_cast<const char*>(zero) : end;
            group[i] = {text, after - text};
            text = zero ? after + 1 : end;
        }
        unknown += find_group(*ids, group, here, found + done);
    }
    return unknown;
}
