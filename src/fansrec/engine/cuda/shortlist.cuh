// The shortlist of one position: exactly those items that it could select, with fp32 scores.

// Collects the items of the blocks that reach the level, by products of fp16 numbers again: the query is one row of 16.
__device__ void find_items(const Catalog &catalog, const unsigned *blocked, Scratch &s, float at) {
    const int g = lane_id() / 4, t = lane_id() % 4, blocks = min(s.block_count, MAX_BLOCKS);
    unsigned a[WIDTH / 16][4] = {};
    if (g == 0)
        for (int k = 0; k < WIDTH / 16; k++) {
            const float *q = s.query + 16 * k + 2 * t;
            a[k][0] = pack(q[0], q[1]), a[k][2] = pack(q[8], q[9]);
        }
    uint4 w[4][STEPS];
    float2 bias[4];
    unsigned not_allowed = 0, next_not_allowed = 0;
    const auto fetch = [&](int block) {
        load_weights<4, STEPS>(w, catalog.weights, block * 4);
        for (int i = 0; i < 4; i++) bias[i] = two(catalog.bias + block * BLOCK + 8 * i + 2 * t);
        if (blocked) next_not_allowed = blocked[block];
    };
    int b = warp_id();
    if (b < blocks) fetch(s.blocks[b]);
    for (; b < blocks; b += WARPS) {
        const int block = s.blocks[b];
        not_allowed = next_not_allowed;
        float c[4][4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            c[i][0] = bias[i].x, c[i][1] = bias[i].y, c[i][2] = c[i][3] = 0;
#pragma unroll
            for (int j = 0; j < STEPS; j++) {
                product(c[i], a[2 * j], w[i][j].x, w[i][j].y);
                product(c[i], a[2 * j + 1], w[i][j].z, w[i][j].w);
            }
        }
        if (b + WARPS < blocks) fetch(s.blocks[b + WARPS]);
        unsigned good = 0;
        for (int i = 0; i < 8; i++) good |= (c[i / 2][i & 1] >= at && !(not_allowed >> (8 * (i / 2) + 2 * t + (i & 1)) & 1)) << i;
        if (g == 0 && good)
            for (int n = atomicAdd(&s.item_count, __popc(good)); good && n < MAX_ITEMS; n++, good &= good - 1) {
                const int i = __ffs(good) - 1;
                s.slots[n] = block * BLOCK + 8 * (i / 2) + 2 * t + (i & 1), s.logits[n] = c[i / 2][i & 1];
            }
    }
    __syncthreads();
}

// Searches the items once more if more than MAX_ITEMS reach the level: the bests of the blocks say little about a
// shortlist that is nearly as long as their number. Every step of the bisection counts the items that reach its level.
__device__ __noinline__ void find_fewer_items(const Catalog &catalog, const unsigned *blocked, Scratch &s, int depth) {
    const auto reached = [&](float least) {
        __syncthreads();  // all threads have read the last count
        if (threadIdx.x == 0) s.item_count = 0;
        __syncthreads();
        find_items(catalog, blocked, s, least);
        return s.item_count;
    };
    const float best = s.best, error = s.error;
    float low = s.worst, step = fmaxf(best - low, 1.0f);
    while (reached(low) < depth) low -= step, step *= 2;  // MAX_ITEMS reach a lower one
    reached(threshold(reached, depth, low, best) - error);
}

// Keeps the items that may be among the best `depth`, by their logits in fp16: the bests of blocks leave many more if the
// shortlist is long.
__device__ void keep_best_items(Scratch &s, int depth) {
    constexpr int MANY = MAX_ITEMS / THREADS;
    const ThreadGroup<true> group{s};
    const int items = s.item_count;
    float logits[MANY], extremes[2] = {MINUS_INF, MINUS_INF};  // best, minus the worst
    int slots[MANY];
#pragma unroll
    for (int j = 0; j < MANY; j++) {
        const int i = threadIdx.x + j * THREADS;
        logits[j] = i < items ? s.logits[i] : 2 * MINUS_INF, slots[j] = i < items ? s.slots[i] : 0;
        if (i < items) extremes[0] = fmaxf(extremes[0], logits[j]), extremes[1] = fmaxf(extremes[1], -logits[j]);
    }
    group.reduce(extremes, [](float x, float y) { return fmaxf(x, y); });
    const float at = threshold([&](float least) {
        int n = 0;
#pragma unroll
        for (int j = 0; j < MANY; j++) n += logits[j] >= least;
        return group.sum(n); }, depth, -extremes[1], extremes[0]) - s.error;
    if (threadIdx.x == 0) s.item_count = 0;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < MANY; j++)
        if (logits[j] >= at && logits[j] > MINUS_INF) s.slots[atomicAdd(&s.item_count, 1)] = slots[j];
    __syncthreads();
}

// Computes the logits of the items in fp32, half a warp per item.
__device__ void score_items(const ItemTable &table, Scratch &s, int items) {
    const int lane = lane_id() & 15;
    for (int i = threadIdx.x / 16; i < (items + 1) / 2 * 2; i += THREADS / 16) {
        const int slot = s.slots[min(i, items - 1)];
        float sum = 0;
        for (int k = 4 * lane; k < WIDTH; k += 64) {
            const float4 w = __ldg(reinterpret_cast<const float4 *>(table.weights + static_cast<size_t>(slot) * WIDTH + k));
            sum += w.x * s.query[k] + w.y * s.query[k + 1] + w.z * s.query[k + 2] + w.w * s.query[k + 3];
        }
        for (int step = 8; step; step >>= 1) sum += __shfl_xor_sync(~0u, sum, step);
        if (lane == 0 && i < items) s.logits[i] = sum + table.bias[slot];
    }
    __syncthreads();
}

// Sorts the items: the rank of an item is the number of better ones; four threads count for each.
__device__ void write_shortlist(const Answer &answer, const Scratch &s, int position, int items, int depth, float shift) {
    for (int first = 0; first < items; first += THREADS / 4) {
        const int i = first + threadIdx.x / 4;
        const float mine = i < items ? s.logits[i] : 0;
        const int slot = i < items ? s.slots[i] : 0;
        int rank = 0;
        for (int j = threadIdx.x & 3; j < items; j += 4) rank += s.logits[j] > mine || (s.logits[j] == mine && s.slots[j] < slot);
        rank += __shfl_xor_sync(~0u, rank, 1);
        rank += __shfl_xor_sync(~0u, rank, 2);
        if ((threadIdx.x & 3) == 0 && i < items && rank < depth)
            answer.shortlists[static_cast<size_t>(position) * answer.stride + rank] = make_int2(slot, __float_as_int(mine + shift));
    }
}

__device__ void make_shortlist(const Catalog &catalog, const ItemTable &table, const Request &request, const Queries &queries,
                               const BlockBest &block_best, const Answer &answer, Scratch &s, int position, int list, int first) {
    const int category = queries.category[position], first_block = s.first_block[category];
    const int count = s.first_block[category + 1] - first_block;
    const float category_score = queries.category_score[position];
    if (threadIdx.x < WIDTH) s.query[threadIdx.x] = queries.query32[static_cast<size_t>(position) * WIDTH + threadIdx.x];
    if (threadIdx.x == 0) s.block_count = s.item_count = 0;
    int depth = depth_of(queries, first, position, category, s.sums);
    if (answer.groups) depth = min(answer.stride, with_skipped(depth));
    float log_sum;
    const float2 *row = block_best.best + static_cast<size_t>(position) * block_best.stride;
    const float at = count <= KEPT * 32 ? find_blocks<false>(table, row, s, first_block, count, depth, log_sum)
                                        : find_blocks<true>(table, row, s, first_block, count, depth, log_sum);
    const unsigned *blocked = request.blocked ? request.blocked + static_cast<size_t>(list) * request.words : nullptr;
    find_items(catalog, blocked, s, at);
    if (s.item_count > MAX_ITEMS && s.block_count <= MAX_BLOCKS) find_fewer_items(catalog, blocked, s, depth);
    // If not all candidates fit, the position has no shortlist, and the host sees that it is not filled.
    const bool fit = s.block_count <= MAX_BLOCKS && s.item_count <= MAX_ITEMS;
    if (fit && s.item_count > 2 * depth + THREADS / 2) keep_best_items(s, depth);
    const int items = fit ? s.item_count : 0;
    score_items(table, s, items);
    write_shortlist(answer, s, position, items, depth, category_score - log_sum);
    if (threadIdx.x == 0) answer.lengths[position] = min(items, depth), queries.counts[category] = 0;
}
