#pragma once
#include <cstdint>

// The ids of a model's items: item i has the bytes content[ends[i]] to content[ends[i + 1]].
struct ItemIds {
    const char* content;
    const int64_t* ends;
    int64_t items;
    uint32_t* slots;
    int64_t mask, bits;  // mask: number of slots - 1; bits: of a slot that hold the item
    int64_t seed;        // so that ids which share a slot cannot be known in advance
};
