// The classifier of the hybrid model (models/hybrid/classifier.py) in fp32: the probabilities of categories, and the
// logits of the items of the categories that are read. Every block of a team computes the former for itself.

constexpr int LANE_ROWS = (READ_ROWS + 3) / 4;     // rows whose sums a lane has

// Applies the transform to all rows, if the model has one: a thread computes one number of a row.
__device__ void transform_rows(const TiedWeights &tied, const BlendShared &s, int rows) {
    for (int i = threadIdx.x; i < rows * WIDTH; i += blockDim.x) {
        const float *row = s.rows + i / WIDTH * WIDTH;
        float sum = tied.transform ? tied.transform_vectors[i % WIDTH] : row[i % WIDTH];
        if (tied.transform) {
#pragma unroll 8
            for (int d = 0; d < WIDTH; d++) sum += row[d] * __ldg(tied.transform + d * WIDTH + i % WIDTH);
            sum = gelu(sum);
        }
        s.transformed[i] = sum;
    }
    __syncthreads();
    if (tied.transform)
        for (int r = warp_id(); r < rows; r += blockDim.x / 32) {
            Row row[1];
            for (int p = 0; p < PAIRS; p++) row[0].of[p] = two(s.transformed + r * WIDTH + column(p));
            normalize(row, tied.transform_vectors + WIDTH, tied.transform_vectors + 2 * WIDTH);
            for (int p = 0; p < PAIRS; p++) *reinterpret_cast<float2 *>(s.transformed + r * WIDTH + column(p)) = row[0].of[p];
        }
    __syncthreads();
}

// Returns the weight of a row in the mean over all rows.
__device__ __forceinline__ float share_of(const TiedWeights &tied, int row, int rows) {
    return READ_NEXT && row == 0 ? tied.next_share : (1 - tied.next_share) / (rows - READ_NEXT);
}

// Computes the probability of every category at every row, and their weighted means.
__device__ void find_categories(const TiedWeights &tied, const BlendShared &s, int rows) {
    for (int i = threadIdx.x; i < rows * CATEGORIES; i += blockDim.x) {
        const float *row = s.transformed + i / CATEGORIES * WIDTH;
        float sum = tied.category_bias[i % CATEGORIES];
#pragma unroll 32
        for (int d = 0; d < WIDTH; d++) sum += row[d] * __ldg(tied.category + d * CATEGORIES + i % CATEGORIES);
        s.by_position[i] = sum;
    }
    __syncthreads();
    for (int r = warp_id(); r < rows; r += blockDim.x / 32) {
        float *logits = s.by_position + r * CATEGORIES, highest = MINUS_INF, sum = 0;
        for (int c = lane_id(); c < CATEGORIES; c += 32) highest = fmaxf(highest, logits[c]);
        for (int step = 16; step; step >>= 1) highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, step));
        for (int c = lane_id(); c < CATEGORIES; c += 32) logits[c] = expf(logits[c] - highest), sum += logits[c];
        for (int step = 16; step; step >>= 1) sum += __shfl_xor_sync(~0u, sum, step);
        const float factor = share_of(tied, r, rows) / sum;
        for (int c = lane_id(); c < CATEGORIES; c += 32) logits[c] *= factor;
    }
    __syncthreads();
    for (int c = threadIdx.x; c < CATEGORIES; c += blockDim.x) {
        float sum = 0;
        for (int r = 0; r < rows; r++) sum += s.by_position[r * CATEGORIES + c];
        s.by_list[c] = sum;
    }
    __syncthreads();
}

// Selects the categories with the highest means; of equal ones the first. Without categories, all items are one.
__device__ void select_categories(const TiedWeights &tied, const BlendShared &s, int rows, int items) {
    for (int c = threadIdx.x; TWO_STAGE && c < CATEGORIES; c += blockDim.x) {
        const float mine = s.by_list[c];
        int rank = 0;
#pragma unroll 8
        for (int other = 0; other < CATEGORIES; other++) rank += s.by_list[other] > mine || (s.by_list[other] == mine && other < c);
        s.read_rank[c] = rank < READ_CATEGORIES ? rank : -1;
        if (rank < READ_CATEGORIES) s.read[rank] = c;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < READ_CATEGORIES * rows; i += blockDim.x) {
        const int q = i / rows, row = i % rows;
        s.weights[q * READ_ROWS + row] = TWO_STAGE ? s.by_position[row * CATEGORIES + s.read[q]] : share_of(tied, row, rows);
    }
    if (threadIdx.x == 0)
        for (int q = 0, first = 0; q < READ_CATEGORIES; q++) {
            s.first_logit[q] = first;
            if (TWO_STAGE) first += tied.starts[s.read[q] + 1] - tied.starts[s.read[q]];
        }
    __syncthreads();
}

// Adds a sum of exponentials to another one; x is the highest exponent and y the sum relative to it.
__device__ __forceinline__ float2 add_sums(float2 a, float2 b) {
    const float highest = fmaxf(a.x, b.x);
    return make_float2(highest, a.y * expf(a.x - highest) + b.y * expf(b.x - highest));
}

// Computes the logits of an item at all rows, four lanes per item; every one of them gets all.
__device__ __forceinline__ void item_logits(const TiedWeights &tied, const BlendShared &s, int item, float (&logits)[READ_ROWS]) {
    const int lane = lane_id() & 3;
    const float bias = __ldg(tied.bias + item);
    float4 w[WIDTH / 16];
    for (int i = 0; i < WIDTH / 16; i++) w[i] = __ldg(reinterpret_cast<const float4 *>(tied.items + static_cast<size_t>(item) * WIDTH) + 4 * i + lane);
#pragma unroll
    for (int r = 0; r < READ_ROWS; r++) {
        logits[r] = 0;
        for (int i = 0; i < WIDTH / 16; i++) {
            const float4 x = reinterpret_cast<const float4 *>(s.transformed + r * WIDTH)[4 * i + lane];
            logits[r] += x.x * w[i].x + x.y * w[i].y + x.z * w[i].z + x.w * w[i].w;
        }
    }
#pragma unroll
    for (int step = 2; step; step >>= 1)
        for (int r = 0; r < READ_ROWS; r++) logits[r] += __shfl_xor_sync(~0u, logits[r], step);
    for (int r = 0; r < READ_ROWS; r++) logits[r] = tied.scale * logits[r] + bias;
}

__device__ __forceinline__ float2 add_sums_of_lanes(float2 sum, int step) {
    return add_sums(sum, make_float2(__shfl_xor_sync(~0u, sum.x, step), __shfl_xor_sync(~0u, sum.y, step)));
}

// Computes the logits of the items of one slot and category, and the sums of their exponentials.
__device__ void score_slot(const TiedWeights &tied, const BlendShared &s, const BlendScratch &scratch, int slot, int q, int rows, int first, int count) {
    const int lane = lane_id() & 3;
    float2 sums[LANE_ROWS];
    for (int n = 0; n < LANE_ROWS; n++) sums[n] = make_float2(MINUS_INF, 0);
    for (int from = slot * 8; from < count; from += SLOTS * 8) {
        const int i = from + lane_id() / 4;
        float logits[READ_ROWS];
        item_logits(tied, s, first + min(i, count - 1), logits);
        if (i >= count) continue;
#pragma unroll
        for (int r = 0; r < READ_ROWS; r++)
            if (r % 4 == lane && r < rows) {
                sums[r / 4] = add_sums(sums[r / 4], make_float2(logits[r], 1));
                scratch.logits[static_cast<size_t>(s.first_logit[q] + i) * READ_ROWS + r] = logits[r];
            }
    }
    __syncwarp();
    for (int step = 4; step < 32; step <<= 1)
        for (int n = 0; n < LANE_ROWS; n++) sums[n] = add_sums_of_lanes(sums[n], step);
#pragma unroll
    for (int r = 0; r < READ_ROWS; r++)
        if (lane_id() == r % 4) scratch.sums[(slot * READ_CATEGORIES + q) * READ_ROWS + r] = sums[r / 4];
}

// Computes the logits of all items of the categories that are read, and the sums of their exponentials by slots. An item is in
// the same slot whatever the number of threads and blocks, so that sums are rounded in the same way.
__device__ void score_categories(const TiedWeights &tied, const BlendShared &s, const BlendScratch &scratch, int rows, int items) {
    for (int unit = team_warp(); unit < READ_CATEGORIES * SLOTS; unit += team_warps()) {
        const int q = unit / SLOTS, first = TWO_STAGE ? tied.starts[s.read[q]] : 0;
        const int count = (TWO_STAGE ? tied.starts[s.read[q] + 1] : items) - first;
        score_slot(tied, s, scratch, unit % SLOTS, q, rows, first, count);
    }
}

// Computes what the network can add to the score of an item of a category, at most: all that are read may add anything.
__device__ void find_bounds(const TiedWeights &tied, const Mixture &mixture, const BlendShared &s) {
    for (int c = threadIdx.x; c < CATEGORIES; c += blockDim.x) {
        const bool is_bounded = mixture.network > 0 && TWO_STAGE && s.read_rank[c] < 0;
        s.bounds[c] = mixture.network > 0 ? -MINUS_INF : 0;
        if (is_bounded) s.bounds[c] = mixture.network * log1pf(s.by_list[c] * __ldg(tied.highest_prior + c) * mixture.items) * (1 + 1e-5f);
    }
    __syncthreads();
}

// Adds the sums of all slots, a warp for each category and row.
__device__ void find_log_sums(const BlendShared &s, const BlendScratch &scratch) {
    for (int i = warp_id(); i < READ_CATEGORIES * READ_ROWS; i += blockDim.x / 32) {
        float2 sum = make_float2(MINUS_INF, 0);
        for (int slot = lane_id(); slot < SLOTS; slot += 32) sum = add_sums(sum, __ldcg(scratch.sums + slot * READ_CATEGORIES * READ_ROWS + i));
        for (int step = 16; step; step >>= 1) sum = add_sums_of_lanes(sum, step);
        if (lane_id() == 0) s.log_sums[i] = sum.x + logf(sum.y);
    }
    __syncthreads();
}
