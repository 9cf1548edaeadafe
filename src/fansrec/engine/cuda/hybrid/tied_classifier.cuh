// The classifier of the hybrid model (models/hybrid/classifier.py) in fp32: the probabilities of categories, and the
// logits of the items of the categories that are read. Every block of a cluster computes the former for itself.

constexpr int SLOTS = BLEND_THREADS / 16;  // of a block: half a warp scores the items of one slot
constexpr int LOADED = 4;                  // items whose vectors half a warp loads at once

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
#pragma unroll 8
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

// The vectors of all rows, of which a lane holds every 16th group of four columns.
struct RowParts {
    float4 of[READ_ROWS][WIDTH / 64];
};

struct ItemVector {
    float4 of[WIDTH / 64];
    float bias;
};

__device__ __forceinline__ ItemVector item_vector(const TiedWeights &tied, int item) {
    ItemVector w;
    for (int p = 0; p < WIDTH / 64; p++)
        w.of[p] = __ldg(reinterpret_cast<const float4 *>(tied.items + static_cast<size_t>(item) * WIDTH) + 16 * p + (lane_id() & 15));
    w.bias = __ldg(tied.bias + item);
    return w;
}

// Computes the logits of an item at all rows, half a warp per item; returns that of the row with the lane's number.
__device__ __forceinline__ float item_logit(const RowParts &parts, const ItemVector &w) {
    float logits[READ_ROWS], own = 0;
    for (int r = 0; r < READ_ROWS; r++) {
        logits[r] = 0;
        for (int p = 0; p < WIDTH / 64; p++) {
            const float4 q = parts.of[r][p];
            logits[r] += q.x * w.of[p].x + q.y * w.of[p].y + q.z * w.of[p].z + q.w * w.of[p].w;
        }
    }
#pragma unroll
    for (int step = 8; step; step >>= 1)
        for (int r = 0; r < READ_ROWS; r++) logits[r] += __shfl_xor_sync(~0u, logits[r], step);
    for (int r = 0; r < READ_ROWS; r++)
        if ((lane_id() & 15) == r) own = logits[r] + w.bias;
    return own;
}

// Adds the sums of all slots of the block, each of whose lanes has that of one row, and writes them.
__device__ void write_sums(const float2 *of_slots, float2 *target) {
    __syncthreads();
    if (threadIdx.x < READ_ROWS) {
        float2 sum = of_slots[threadIdx.x];
        for (int slot = 1; slot < SLOTS; slot++) sum = add_sums(sum, of_slots[slot * 16 + threadIdx.x]);
        target[threadIdx.x] = sum;
    }
    __syncthreads();
}

// Computes the logits of all items of the categories that are read, and the sums of their exponentials. Every SLOTS-th item
// is in the same slot, whatever the number of threads, so that sums are rounded in the same way.
__device__ void score_categories(const TiedWeights &tied, const BlendShared &s, const BlendScratch &scratch, int rows, int items) {
    const int lane = lane_id() & 15;
    float2 *of_slots = reinterpret_cast<float2 *>(s.candidates);  // not used yet
    RowParts parts;
    for (int r = 0; r < READ_ROWS; r++)
        for (int p = 0; p < WIDTH / 64; p++) {
            const float4 x = reinterpret_cast<const float4 *>(s.transformed + r * WIDTH)[16 * p + lane];
            const float scale = r < rows ? tied.scale : 0;
            parts.of[r][p] = make_float4(scale * x.x, scale * x.y, scale * x.z, scale * x.w);
        }
    for (int q = 0; q < READ_CATEGORIES; q++) {
        const int first = TWO_STAGE ? tied.starts[s.read[q]] : 0, count = (TWO_STAGE ? tied.starts[s.read[q] + 1] : items) - first;
        for (int slot = threadIdx.x / 16; slot < SLOTS; slot += blockDim.x / 16) {
            float2 sum = make_float2(MINUS_INF, 0);  // of one row
            for (int from = cluster_rank() * SLOTS + slot; from < (count + 1) / 2 * 2; from += LOADED * CLUSTER * SLOTS) {  // whole warps
                ItemVector vectors[LOADED];
                for (int n = 0; n < LOADED; n++) vectors[n] = item_vector(tied, first + min(from + n * CLUSTER * SLOTS, count - 1));
                for (int n = 0; n < LOADED; n++) {
                    const int i = from + n * CLUSTER * SLOTS;
                    const float own = item_logit(parts, vectors[n]);
                    if (i >= count || lane >= READ_ROWS) continue;
                    sum = add_sums(sum, make_float2(own, 1));
                    scratch.logits[static_cast<size_t>(s.first_logit[q] + i) * READ_ROWS + lane] = own;
                }
            }
            of_slots[slot * 16 + lane] = sum;
        }
        write_sums(of_slots, scratch.sums + (cluster_rank() * READ_CATEGORIES + q) * READ_ROWS);
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

// Adds the sums of all blocks.
__device__ void find_log_sums(const BlendShared &s, const BlendScratch &scratch) {
    for (int i = threadIdx.x; i < READ_CATEGORIES * READ_ROWS; i += blockDim.x) {
        float2 sum = make_float2(MINUS_INF, 0);
        for (int rank = 0; rank < CLUSTER; rank++) sum = add_sums(sum, __ldcg(scratch.sums + rank * READ_CATEGORIES * READ_ROWS + i));
        s.log_sums[i] = sum.x + logf(sum.y);
    }
    __syncthreads();
}
