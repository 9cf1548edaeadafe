// One list, one cluster of eight blocks: its tokens never leave shared memory between the embedding and the last layer.
//
// Every block holds the vectors of the whole list in fp16 (`x`). In a layer, a block first computes the attention of
// its own head or heads over all tokens and sends the results to the blocks that own the tokens; a block owns every
// eighth tile of 16 tokens. Each block then passes its own tiles through the rest of the layer and sends the new
// vectors to all blocks. A layer has two cluster barriers; weights are loaded meanwhile.

// Adds the products and the bias of a tile to the owner's fp32 rows; every element belongs to one lane.
template <int TILES>
__device__ __forceinline__ void add_to(float *sums, const float (&c)[TILES][4], const float *bias, int first, bool fresh) {
    const int g = lane_id() / 4, t = lane_id() % 4;
    for (int i = 0; i < TILES; i++) {
        const int at = (first + i) * 8 + 2 * t;
        const float2 b = two(bias + at);
        float2 *upper = reinterpret_cast<float2 *>(sums + g * SUMS + at), *lower = reinterpret_cast<float2 *>(sums + (g + 8) * SUMS + at);
        const float2 u = fresh ? make_float2(0, 0) : *upper, l = fresh ? make_float2(0, 0) : *lower;
        *upper = make_float2(u.x + c[i][0] + b.x, u.y + c[i][1] + b.y);
        *lower = make_float2(l.x + c[i][2] + b.x, l.y + c[i][3] + b.y);
    }
}

__device__ __forceinline__ Row row_of(const float *sums, int r) {
    Row row;
    for (int p = 0; p < PAIRS; p++) row.of[p] = *reinterpret_cast<const float2 *>(sums + r * SUMS + column(p));
    return row;
}

__device__ __forceinline__ void store_operand(half_t *rows, const Row &row, int r) {
    for (int p = 0; p < PAIRS; p++)
        store_split(rows + r * ROW + column(p), TILE * ROW, row.of[p].x, row.of[p].y);
}

// Adds a row of fp16 numbers.
__device__ __forceinline__ void add_row(Row &row, const half_t *from) {
    for (int p = 0; p < PAIRS; p++) {
        const float2 term = unpack(word(from + column(p)));
        row.of[p] = make_float2(row.of[p].x + term.x, row.of[p].y + term.y);
    }
}

// Computes the second half of a layer for the block's own tiles; of the last layer, for those that are read.
//
// SASRec normalizes before attention and feed-forward part, not after them: `sums` holds what was not normalized, except
// after the last layer, and `x` what was normalized by the norm that the next layer begins with.
__device__ void feed_forward(const Shared &s, const Matrix<OUT_TILES, STEPS> &out, const Matrix<WIDE_TILES, STEPS> &widen,
                             const Matrix<OUT_TILES, WIDE_STEPS> &narrow, const float *vectors, const List &list, int rank, bool last) {
    const int warp = warp_id(), g = lane_id() / 4, t = lane_id() % 4;
    const float *out_bias = vectors + 3 * WIDTH, *norm = out_bias + (SASREC ? 0 : WIDTH), *wide_bias = norm + 2 * WIDTH;
    const float *narrow_bias = wide_bias + FEEDFORWARD, *last_norm = narrow_bias + WIDTH;
    for (int slot = 0, tile = rank; tile < list.tiles; slot++, tile += CLUSTER) {
        if (last && !reads_tile(list, tile)) continue;
        float *sums = s.sums + slot * TILE * SUMS;
        if constexpr (!SASREC) {
            float c[OUT_TILES][4] = {};
            multiply(c, s.attended + slot * TILE * ROW, ROW, s.attended_size(), out);
            add_to<OUT_TILES>(sums, c, out_bias, warp * OUT_TILES, false);
            __syncthreads();
        }
        Row rows[OWN_ROWS];
        for (int i = 0; i < OWN_ROWS; i++) {
            const int r = warp + i * WARPS;
            rows[i] = row_of(sums, r);
            if (SASREC) add_row(rows[i], s.attended + (slot * TILE + r) * ROW), store_sums(sums, rows[i], r);
        }
        normalize(rows, norm, norm + WIDTH);
        for (int i = 0; i < OWN_ROWS; i++) {
            const int r = warp + i * WARPS;
            if (!SASREC) store_sums(sums, rows[i], r);
            store_operand(s.operand, rows[i], r);
        }
        __syncthreads();
        float wide[WIDE_TILES][4] = {};
        multiply(wide, s.operand, ROW, TILE * ROW, widen);
        for (int i = 0; i < WIDE_TILES; i++) {
            const int at = (warp * WIDE_TILES + i) * 8 + 2 * t;
            const float2 b = two(wide_bias + at);
            store_split(s.wide + g * WIDE_ROW + at, TILE * WIDE_ROW, activation(wide[i][0] + b.x), activation(wide[i][1] + b.y));
            store_split(s.wide + (g + 8) * WIDE_ROW + at, TILE * WIDE_ROW, activation(wide[i][2] + b.x), activation(wide[i][3] + b.y));
        }
        __syncthreads();
        float back[OUT_TILES][4] = {};
        multiply(back, s.wide, WIDE_ROW, TILE * WIDE_ROW, narrow);
        add_to<OUT_TILES>(sums, back, narrow_bias, warp * OUT_TILES, false);
        __syncthreads();
        for (int i = 0; i < OWN_ROWS; i++) rows[i] = row_of(sums, warp + i * WARPS);
        normalize(rows, last_norm, last_norm + WIDTH);
        for (int i = 0; i < OWN_ROWS; i++) store_row(s, rows[i], slot, tile, warp + i * WARPS, !last, !SASREC || last);
    }
}

// EARLY: the weights of the second half are loaded before the first half begins, which takes registers that two blocks
// on one multiprocessor do not have.
template <bool EARLY>
__device__ __forceinline__ void run_layers(const Weights &w, const Shared &s, const List &list, int rank, Projection &projection) {
    Matrix<OUT_TILES, STEPS> out;
    Matrix<WIDE_TILES, STEPS> widen;
    Matrix<OUT_TILES, WIDE_STEPS> narrow;
    const auto fetch = [&](const uint4 *matrices) {
        if (!SASREC) out.load(matrices, warp_id() * OUT_TILES);
        widen.load(matrices + OUT_SIZE, warp_id() * WIDE_TILES);
        narrow.load(matrices + OUT_SIZE + WIDEN_SIZE, warp_id() * OUT_TILES);
    };
    for (int layer = 0; layer < LAYERS; layer++) {
        const uint4 *qkv = w.matrices + static_cast<size_t>(layer) * LAYER_MATRICES;
        const float *vectors = s.vectors + layer * LAYER_VECTORS;
        const bool last = layer == LAYERS - 1;
        const int first_tile = last ? (READ_NEXT ? list.length : list.first_mask) / TILE : 0;  // the first one that is read
        if (EARLY) fetch(qkv + QKV_SIZE);
        for (int h = 0; h < HEADS_PER_BLOCK; h++) {
            const int head = head_of(rank, h);
            if (h > 0) __syncthreads(), projection.load(qkv, head * HEAD_TILES);
            project(s, projection, vectors, head, list.tiles);
            __syncthreads();
            for (int tile = first_tile + rank / HEADS % BLOCKS_PER_HEAD + warp_id() * BLOCKS_PER_HEAD; tile < list.tiles; tile += WARPS * BLOCKS_PER_HEAD)
                if (!TIED || !last || reads_tile(list, tile)) attend(s, list, head, tile);
        }
        cluster_arrive();
        if (!EARLY) fetch(qkv + QKV_SIZE);
        cluster_wait();
        feed_forward(s, out, widen, narrow, vectors, list, rank, last);
        if (!last) cluster_arrive();
        projection.load(last ? w.matrices : qkv + LAYER_MATRICES, head_of(rank, 0) * HEAD_TILES);
        if (!last) cluster_wait();
        else __syncthreads();
    }
}
