// From the last layer to a query for every position: a category, and the vector that is compared with its items.

__device__ __forceinline__ Row activated(Row row, const float *bias) {
    for (int p = 0; p < PAIRS; p++) {
        const float2 b = two(bias + column(p));
        row.of[p] = make_float2(gelu(row.of[p].x + b.x), gelu(row.of[p].y + b.y));
    }
    return row;
}

// Finds the most probable category of each row of a warp and its log-probability; of equal ones, the first.
__device__ __forceinline__ void best_categories(const float *logits, int (&category)[OWN_ROWS], float (&score)[OWN_ROWS]) {
    float best[OWN_ROWS], sum[OWN_ROWS] = {};
    for (int i = 0; i < OWN_ROWS; i++) {
        const float *row = logits + (warp_id() + i * WARPS) * LOGITS;
        best[i] = MINUS_INF, category[i] = CATEGORIES;
        for (int c = lane_id(); c < CATEGORIES; c += 32)
            if (row[c] > best[i]) best[i] = row[c], category[i] = c;
    }
#pragma unroll
    for (int step = 16; step; step >>= 1)
        for (int i = 0; i < OWN_ROWS; i++) {
            const float other = __shfl_xor_sync(~0u, best[i], step);
            const int index = __shfl_xor_sync(~0u, category[i], step);
            if (other > best[i] || (other == best[i] && index < category[i])) best[i] = other, category[i] = index;
        }
    for (int i = 0; i < OWN_ROWS; i++)
        for (int c = lane_id(); c < CATEGORIES; c += 32)
            sum[i] += __expf(logits[(warp_id() + i * WARPS) * LOGITS + c] - best[i]);
#pragma unroll
    for (int step = 16; step; step >>= 1)
        for (int i = 0; i < OWN_ROWS; i++) sum[i] += __shfl_xor_sync(~0u, sum[i], step);
    for (int i = 0; i < OWN_ROWS; i++) score[i] = -__logf(sum[i]);
}

// Applies the transforms of the local classifiers. Every category has its own matrix, so each row is multiplied by
// itself, all rows of a warp at once.
__device__ void local_transforms(Row (&rows)[OWN_ROWS], const Weights &w, const float *hidden, const int (&category)[OWN_ROWS]) {
    const unsigned *matrix[OWN_ROWS];
    for (int i = 0; i < OWN_ROWS; i++) {
        matrix[i] = w.local_matrices + static_cast<size_t>(category[i]) * WIDTH * WIDTH / 2 + lane_id();
        rows[i] = {};
    }
#pragma unroll 64
    for (int k = 0; k < WIDTH; k++)
        for (int i = 0; i < OWN_ROWS; i++)
            for (int p = 0; p < PAIRS; p++) {
                const float2 m = unpack(__ldg(matrix[i] + k * (WIDTH / 2) + 32 * p));
                const float h = hidden[(warp_id() + i * WARPS) * SUMS + k];
                rows[i].of[p].x += m.x * h, rows[i].of[p].y += m.y * h;
            }
    for (int i = 0; i < OWN_ROWS; i++) {
        const float *vectors = w.local_vectors + category[i] * 3 * WIDTH;
        Row row[1] = {activated(rows[i], vectors)};
        normalize(row, vectors + WIDTH, vectors + 2 * WIDTH);
        rows[i] = row[0];
    }
}

__device__ void write_query(const Queries &queries, const Row &row, int position, int list, int category, float score) {
    for (int p = 0; p < PAIRS; p++) {
        const size_t at = static_cast<size_t>(position) * WIDTH + column(p);
        *reinterpret_cast<float2 *>(queries.query32 + at) = row.of[p];
        *reinterpret_cast<unsigned *>(queries.query16 + at) = pack(row.of[p].x, row.of[p].y);
    }
    if (lane_id() == 0) {
        queries.category[position] = category, queries.category_score[position] = score, queries.list[position] = list;
        queries.buckets[static_cast<size_t>(category) * queries.positions + atomicAdd(queries.counts + category, 1)] = position;
    }
}

// Computes the queries of the block's own tiles with masks: shared transform, category, and transform of the category.
__device__ void make_queries(const Weights &w, const Queries &queries, const Shared &s, const List &list, int rank) {
    const float *bias = s.vectors + LAYERS * LAYER_VECTORS, *norm = bias + WIDTH, *category_bias = norm + 2 * WIDTH;
    const int warp = warp_id(), g = lane_id() / 4, t = lane_id() % 4;
    uint4 transform[OUT_TILES][STEPS];
    load_weights<OUT_TILES, STEPS>(transform, w.head_matrices, warp * OUT_TILES);
    for (int slot = 0, tile = rank; tile < list.tiles; slot++, tile += CLUSTER) {
        if ((tile + 1) * TILE <= list.first_mask || tile * TILE >= list.first_mask + list.k) continue;
        float *hidden = s.sums + slot * TILE * SUMS, *sums = reinterpret_cast<float *>(s.wide);  // `wide` is free by now
        float c[OUT_TILES][4] = {};
        multiply<OUT_TILES, STEPS>(c, s.x + tile * TILE * ROW, ROW, transform);
        for (int i = 0; i < OUT_TILES; i++) {
            const int at = (warp * OUT_TILES + i) * 8 + 2 * t;
            *reinterpret_cast<float2 *>(sums + g * SUMS + at) = make_float2(c[i][0], c[i][1]);
            *reinterpret_cast<float2 *>(sums + (g + 8) * SUMS + at) = make_float2(c[i][2], c[i][3]);
        }
        __syncthreads();
        Row rows[OWN_ROWS];
        for (int i = 0; i < OWN_ROWS; i++) rows[i] = activated(row_of(sums, warp + i * WARPS), bias);
        normalize(rows, norm, norm + WIDTH);
        for (int i = 0; i < OWN_ROWS; i++) store_operand(s.operand, rows[i], warp + i * WARPS);
        __syncthreads();
        if (TWO_STAGE) {
            for (int first = warp; first < (CATEGORIES + 7) / 8; first += WARPS) {
                uint4 columns[1][STEPS];
                load_weights<1, STEPS>(columns, w.head_matrices + OUT_SIZE, first);
                float l[1][4] = {};
                multiply<1, STEPS>(l, s.operand, ROW, columns);
                const int at = first * 8 + 2 * t;
                const float2 b = two(category_bias + at);
                s.logits[g * LOGITS + at] = l[0][0] + b.x, s.logits[g * LOGITS + at + 1] = l[0][1] + b.y;
                s.logits[(g + 8) * LOGITS + at] = l[0][2] + b.x, s.logits[(g + 8) * LOGITS + at + 1] = l[0][3] + b.y;
            }
            __syncthreads();
        }
        int category[OWN_ROWS] = {};
        float score[OWN_ROWS] = {};
        if (TWO_STAGE) {
            best_categories(s.logits, category, score);
            local_transforms(rows, w, hidden, category);
        }
        for (int i = 0; i < OWN_ROWS; i++) {
            const int position = tile * TILE + warp + i * WARPS - list.first_mask;
            if (position >= 0 && position < list.k)
                write_query(queries, rows[i], list.first_position + position, list.number, category[i], score[i]);
        }
        __syncthreads();
    }
}

// Writes the query of SASRec, which has no transform: the state of the last item, which is compared with all items.
__device__ void write_last_state(const Queries &queries, const Shared &s, const List &list, int rank) {
    const int tile = list.first_mask / TILE, r = list.first_mask % TILE;
    if (tile % CLUSTER != rank || r % WARPS != warp_id()) return;
    write_query(queries, row_of(s.sums + tile / CLUSTER * TILE * SUMS, r), list.first_position, list.number, 0, 0.0f);
}

// Blocks an item of the input; `seen` remembers where, so that it can be unblocked.
__device__ __forceinline__ void mark_seen(const Weights &w, const Request &request, const Queries &queries, const List &list, int position,
                                          int id, bool known) {
    const int at = known ? w.slot_of[id] : 0;
    queries.seen[list.offset + position] = at / 32;
    if (known) atomicOr(request.blocked + static_cast<size_t>(list.number) * request.words + at / 32, 1u << (at & 31));
}

template <bool EARLY>
__device__ __forceinline__ void encode_lists(const Weights &w, const Request &request, const Queries &queries, const InlineItems &inline_items) {
    const Shared s = divide_memory(request.tiles);
    const int rank = cluster_rank();
    Projection projection;
    projection.load(w.matrices, head_of(rank, 0) * HEAD_TILES);
#pragma unroll 4
    for (int i = threadIdx.x; i < VECTORS / 4; i += THREADS)
        reinterpret_cast<float4 *>(s.vectors)[i] = __ldg(reinterpret_cast<const float4 *>(w.vectors) + i);
    wait_for_previous_kernel();
    allow_next_kernel();
    for (int number = blockIdx.x / CLUSTER; number < request.lists; number += gridDim.x / CLUSTER) {
        const List list = list_at(request, inline_items, number);
        cluster_arrive();
        load_tokens(w, s, list, rank, [&](int position, int id, bool known) {
            if (request.mark_seen) mark_seen(w, request, queries, list, position, id, known);
        });
        __syncthreads();
        embed(w, s, list, rank);
        cluster_arrive(), cluster_wait();
        run_layers<EARLY>(w, s, list, rank, projection);
        if constexpr (SASREC) write_last_state(queries, s, list, rank);
        else make_queries(w, queries, s, list, rank);
    }
}

// One list: a block has all registers of a multiprocessor. Many: two blocks share them, and one works while one waits.
extern "C" __global__ void CLUSTERED __launch_bounds__(THREADS, 1)
encode_one(const __grid_constant__ Weights w, const __grid_constant__ Request request, const __grid_constant__ Queries queries,
           const __grid_constant__ InlineItems inline_items) {
    encode_lists<true>(w, request, queries, inline_items);
}

extern "C" __global__ void CLUSTERED __launch_bounds__(THREADS, 2)
encode_many(const __grid_constant__ Weights w, const __grid_constant__ Request request, const __grid_constant__ Queries queries,
            const __grid_constant__ InlineItems inline_items) {
    encode_lists<false>(w, request, queries, inline_items);
}
