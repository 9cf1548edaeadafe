// The rows of a tile as blocks store them, and the embedding of the tokens of a list.

__device__ __forceinline__ void store_sums(float *sums, const Row &row, int r) {
    for (int p = 0; p < PAIRS; p++) *reinterpret_cast<float2 *>(sums + r * SUMS + column(p)) = row.of[p];
}

// Stores the new vector of one row: in fp32 for its owner unless `sums` has another one, and in fp16 in every block, or in
// this one only.
__device__ __forceinline__ void store_row(const Shared &s, const Row &row, int slot, int tile, int r, bool to_all = true, bool to_sums = true) {
    for (int p = 0; p < PAIRS; p++) {
        if (to_sums) *reinterpret_cast<float2 *>(s.sums + (slot * TILE + r) * SUMS + column(p)) = row.of[p];
        half_t *target = s.x + (tile * TILE + r) * ROW + column(p);
        if (!to_all) {
            store_split(target, s.x_size(), row.of[p].x, row.of[p].y);
            continue;
        }
        const Split both = split(row.of[p].x, row.of[p].y);
        for (int rank = 0; rank < CLUSTER; rank++) {
            store_to_block(rank, target, both.high);
            if (HALVES == 2) store_to_block(rank, target + s.x_size(), both.low);
        }
    }
}

// Writes the tokens of the block's own tiles and calls on_item(position, id, known) for every input item.
template <class OnItem>
__device__ __forceinline__ void load_tokens(const Weights &w, const Shared &s, const List &list, int rank, OnItem on_item) {
    for (int i = threadIdx.x; i < (list.tiles + CLUSTER - 1) / CLUSTER * TILE; i += THREADS) {
        const int token = (i / TILE * CLUSTER + rank) * TILE + i % TILE, position = token - FIRST_ITEM;
        const bool is_input = position >= 0 && position < list.length;
        int id = is_input ? list.items[position] : w.item_count + 1;  // MASK
        const bool known = is_input && id >= 0 && id < w.item_count;
        if (is_input && !known) id = w.item_count + 1;  // an index without an item must not be looked up
        if (FIRST_ITEM && token == 0) id = w.item_count + 2;  // CLS
        else if (SEGMENTED && (token == list.length + 1 || token == list.tokens - 1)) id = w.item_count + 3;  // SEP
        s.tokens[i] = token < list.tokens ? id : -1;
        if (is_input) on_item(position, id, known);
    }
}

__device__ Row embedded(const Weights &w, const List &list, int id, int token) {
    Row row = {};
    if (id < 0) return row;
    const int position = min(token, w.trained_positions - 1), segment = SEGMENTED && token > list.length + 1;
    const int category = EMBED_CATEGORIES && id < w.item_count ? w.category_of[id] : CATEGORIES;
    for (int p = 0; p < PAIRS; p++) {
        const float2 a = two(w.items + static_cast<size_t>(id) * WIDTH + column(p));
        const float2 b = two(w.positions + position * WIDTH + column(p));
        float2 c = make_float2(0, 0), d = make_float2(0, 0);
        if (!SASREC) c = two(w.segments + segment * WIDTH + column(p));
        if (EMBED_CATEGORIES) d = two(w.categories + category * WIDTH + column(p));
        row.of[p] = make_float2(a.x + b.x + c.x + d.x, a.y + b.y + c.y + d.y);
    }
    return row;
}

__device__ void embed(const Weights &w, const Shared &s, const List &list, int rank) {
    const float *norm = s.vectors + LAYERS * LAYER_VECTORS + HEAD_VECTORS;
    bool waited = false;
    for (int slot = 0, tile = rank; tile < list.tiles; slot++, tile += CLUSTER) {
        Row rows[OWN_ROWS];
        for (int i = 0; i < OWN_ROWS; i++) {
            const int r = warp_id() + i * WARPS;
            rows[i] = embedded(w, list, s.tokens[slot * TILE + r], tile * TILE + r);
            if (SASREC) store_sums(s.sums + slot * TILE * SUMS, rows[i], r);
        }
        normalize(rows, norm, norm + WIDTH);
        if (!waited) cluster_wait(), waited = true;  // the other blocks must have started, and finished the last list
        for (int i = 0; i < OWN_ROWS; i++) store_row(s, rows[i], slot, tile, warp_id() + i * WARPS, true, !SASREC);
    }
    if (!waited) cluster_wait();
}
