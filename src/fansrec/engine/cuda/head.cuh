// From the last layer to a query for every position: a category, and the vector to compare its items with.

__device__ __forceinline__ Row activated(Row row, const float *bias) {
    for (int p = 0; p < PAIRS; p++) {
        const float2 b = two(bias + column(p));
        row.of[p] = make_float2(gelu(row.of[p].x + b.x), gelu(row.of[p].y + b.y));
    }
    return row;
}

// The most probable category of each of a warp's rows of logits and its log-probability; of equals the first.
__device__ __forceinline__ void best_categories(const float *logits, int (&category)[MINE], float (&score)[MINE]) {
    float best[MINE], sum[MINE] = {};
    for (int i = 0; i < MINE; i++) {
        const float *row = logits + (warp_id() + i * WARPS) * LOGITS;
        best[i] = MINUS_INF, category[i] = CATEGORIES;
        for (int c = lane_id(); c < CATEGORIES; c += 32)
            if (row[c] > best[i]) best[i] = row[c], category[i] = c;
    }
#pragma unroll
    for (int step = 16; step; step >>= 1)
        for (int i = 0; i < MINE; i++) {
            const float other = __shfl_xor_sync(~0u, best[i], step);
            const int index = __shfl_xor_sync(~0u, category[i], step);
            if (other > best[i] || (other == best[i] && index < category[i])) best[i] = other, category[i] = index;
        }
    for (int i = 0; i < MINE; i++)
        for (int c = lane_id(); c < CATEGORIES; c += 32)
            sum[i] += __expf(logits[(warp_id() + i * WARPS) * LOGITS + c] - best[i]);
#pragma unroll
    for (int step = 16; step; step >>= 1)
        for (int i = 0; i < MINE; i++) sum[i] += __shfl_xor_sync(~0u, sum[i], step);
    for (int i = 0; i < MINE; i++) score[i] = -__logf(sum[i]);
}

// The local classifiers' transforms: another matrix for every category, so each row by itself, all of a warp's at once.
__device__ void local_transforms(Row (&rows)[MINE], const Weights &w, const float *hidden, const int (&category)[MINE]) {
    const unsigned *matrix[MINE];
    for (int i = 0; i < MINE; i++) {
        matrix[i] = w.local_matrices + static_cast<size_t>(category[i]) * WIDTH * WIDTH / 2 + lane_id();
        rows[i] = {};
    }
#pragma unroll 64
    for (int k = 0; k < WIDTH; k++)
        for (int i = 0; i < MINE; i++)
            for (int p = 0; p < PAIRS; p++) {
                const float2 m = unpack(__ldg(matrix[i] + k * (WIDTH / 2) + 32 * p));
                const float h = hidden[(warp_id() + i * WARPS) * SUMS + k];
                rows[i].of[p].x += m.x * h, rows[i].of[p].y += m.y * h;
            }
    for (int i = 0; i < MINE; i++) {
        const float *vectors = w.local_vectors + category[i] * 3 * WIDTH;
        Row row[1] = {activated(rows[i], vectors)};
        normalise(row, vectors + WIDTH, vectors + 2 * WIDTH);
        rows[i] = row[0];
    }
}

__device__ void write_query(const Asked &asked, const Row &row, int position, int list, int category, float score) {
    for (int p = 0; p < PAIRS; p++) {
        const size_t at = static_cast<size_t>(position) * WIDTH + column(p);
        *reinterpret_cast<float2 *>(asked.query32 + at) = row.of[p];
        *reinterpret_cast<unsigned *>(asked.query16 + at) = pack(row.of[p].x, row.of[p].y);
    }
    if (lane_id() == 0) {
        asked.category[position] = category, asked.category_score[position] = score, asked.list[position] = list;
        asked.buckets[static_cast<size_t>(category) * asked.positions + atomicAdd(asked.counts + category, 1)] = position;
    }
}

// All own tiles with masks: the shared transform, the category by it, then the category's own transform.
__device__ void make_queries(const Weights &w, const Asked &asked, const Shared &s, const List &list, int rank) {
    const float *bias = s.vectors + LAYERS * LAYER_VECTORS, *norm = bias + WIDTH, *category_bias = norm + 2 * WIDTH;
    const int warp = warp_id(), g = lane_id() / 4, t = lane_id() % 4;
    uint4 transform[OUT_TILES][STEPS];
    load_weights<OUT_TILES, STEPS>(transform, w.head_matrices, warp * OUT_TILES);
    for (int slot = 0, tile = rank; tile < list.tiles; slot++, tile += CLUSTER) {
        if ((tile + 1) * TILE <= list.first_mask || tile * TILE >= list.first_mask + list.k) continue;
        float *hidden = s.sums + slot * TILE * SUMS, *sums = reinterpret_cast<float *>(s.wide);  // wide is free by now
        float c[OUT_TILES][4] = {};
        multiply<OUT_TILES, STEPS>(c, s.x + tile * TILE * ROW, ROW, transform);
        for (int i = 0; i < OUT_TILES; i++) {
            const int at = (warp * OUT_TILES + i) * 8 + 2 * t;
            *reinterpret_cast<float2 *>(sums + g * SUMS + at) = make_float2(c[i][0], c[i][1]);
            *reinterpret_cast<float2 *>(sums + (g + 8) * SUMS + at) = make_float2(c[i][2], c[i][3]);
        }
        __syncthreads();
        Row mine[MINE];
        for (int i = 0; i < MINE; i++) mine[i] = activated(row_of(sums, warp + i * WARPS), bias);
        normalise(mine, norm, norm + WIDTH);
        for (int i = 0; i < MINE; i++) as_operand(s.operand, mine[i], warp + i * WARPS);
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
        int category[MINE] = {};
        float score[MINE] = {};
        if (TWO_STAGE) {
            best_categories(s.logits, category, score);
            local_transforms(mine, w, hidden, category);
        }
        for (int i = 0; i < MINE; i++) {
            const int position = tile * TILE + warp + i * WARPS - list.first_mask;
            if (position >= 0 && position < list.k)
                write_query(asked, mine[i], list.first_position + position, list.number, category[i], score[i]);
        }
        __syncthreads();
    }
}

template <bool EARLY>
__device__ __forceinline__ void encode_lists(const Weights &w, const Question &question, const Asked &asked, const Given &given) {
    const Shared s = divide(question.tiles);
    const int rank = cluster_rank();
    Projection projection;
    load_projection(projection, w.matrices, head_of(rank, 0));
#pragma unroll 4
    for (int i = threadIdx.x; i < VECTORS / 4; i += THREADS)
        reinterpret_cast<float4 *>(s.vectors)[i] = __ldg(reinterpret_cast<const float4 *>(w.vectors) + i);
    wait_for_last();
    let_next_start();
    for (int number = blockIdx.x / CLUSTER; number < question.lists; number += gridDim.x / CLUSTER) {
        const List list = list_at(question, given, number);
        cluster_arrive();
        read_tokens(w, question, asked, s, list, rank);
        __syncthreads();
        embed(w, s, list, rank);
        cluster_arrive(), cluster_wait();
        run_layers<EARLY>(w, s, list, rank, projection);
        make_queries(w, asked, s, list, rank);
    }
}

// One list: all registers of a multiprocessor for one block. Many: two blocks share them, one works while the other waits.
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
encode_one(const __grid_constant__ Weights w, const __grid_constant__ Question question, const __grid_constant__ Asked asked,
           const __grid_constant__ Given given) {
    encode_lists<true>(w, question, asked, given);
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 2)
encode_many(const __grid_constant__ Weights w, const __grid_constant__ Question question, const __grid_constant__ Asked asked,
            const __grid_constant__ Given given) {
    encode_lists<false>(w, question, asked, given);
}
