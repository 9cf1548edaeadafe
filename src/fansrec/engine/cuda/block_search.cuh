// The blocks of items that may hold an entry of a position's shortlist.
//
// Position by position, a list selects the best item that it has not selected before. Earlier positions of the same
// category can select one item each, so the shortlist of a position need not be longer than their number plus one.

constexpr int KEPT = 16;  // KEPT * THREADS bests of blocks are held in registers

struct Scratch {
    float query[WIDTH];
    float partial[3][WARPS];
    int first_block[TWO_STAGE ? CATEGORIES + 1 : 2];
    int sums[WARPS];
    int blocks[MAX_BLOCKS], block_count;
    float logits[MAX_ITEMS];
    int slots[MAX_ITEMS], item_count;
    float worst, best, error;  // of the bests of the category's blocks; the largest error of a logit in fp16
    int last;
};
static_assert(sizeof(Scratch) <= DECIDE_STATIC_BYTES, "sizes.cuh reserves too little static shared memory");

__device__ int block_sum(int x, int *scratch) {
    x = __reduce_add_sync(~0u, x);
    __syncthreads();  // other threads may still read the last sum
    if (lane_id() == 0) scratch[warp_id()] = x;
    __syncthreads();
    int sum = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) sum += scratch[w];
    return sum;
}

// The threads that search the blocks of a category: all threads together or, if there are few blocks, every warp by
// itself, which is more work, but without barriers.
template <bool WHOLE_BLOCK>
struct ThreadGroup {
    static constexpr int SIZE = WHOLE_BLOCK ? THREADS : 32;
    Scratch &s;

    __device__ int index() const { return WHOLE_BLOCK ? threadIdx.x : lane_id(); }
    __device__ int sum(int x) const { return WHOLE_BLOCK ? block_sum(x, s.sums) : __reduce_add_sync(~0u, x); }

    template <int COUNT, typename Reduce>
    __device__ void reduce(float (&x)[COUNT], Reduce both) const {
#pragma unroll
        for (int step = 16; step; step >>= 1)
            for (int i = 0; i < COUNT; i++) x[i] = both(x[i], __shfl_xor_sync(~0u, x[i], step));
        if (!WHOLE_BLOCK) return;
        __syncthreads();
        for (int i = 0; i < COUNT; i++)
            if (lane_id() == 0) s.partial[i][warp_id()] = x[i];
        __syncthreads();
        for (int i = 0; i < COUNT; i++) {
            x[i] = s.partial[i][0];
            for (int w = 1; w < WARPS; w++) x[i] = both(x[i], s.partial[i][w]);
        }
    }
};

// Finds by bisection a number that at least `depth` values reach, and few more. `reached` counts those that reach it.
template <typename Reached>
__device__ float threshold(Reached reached, int depth, float worst, float best) {
    float low = worst, high = best;  // at least `depth` reach low
    for (int step = 0; step < 24; step++) {
        const float middle = 0.5f * (low + high);
        const int all = reached(middle);
        if (all >= depth) low = middle;
        else high = middle;
        if (all >= depth && all <= depth + depth / 4 + 4) break;
    }
    return low;
}

// Returns the length of the shortlist: how many positions of the list up to this one have the same category.
__device__ int depth_of(const Queries &queries, int first, int position, int category, int *scratch) {
    int same = 0;
    for (int p = first + threadIdx.x; p <= position; p += THREADS) same += queries.category[p] == category;
    return block_sum(same, scratch);
}

// Collects the blocks that may hold an entry of the shortlist, and returns a level that all entries reach.
template <bool WHOLE_BLOCK>
__device__ float find_blocks(const ItemTable &table, const float2 *row, Scratch &s, int first_block, int count, int depth,
                               float &log_sum) {
    const ThreadGroup<WHOLE_BLOCK> group{s};
    float best[KEPT], level[KEPT], extremes[3] = {MINUS_INF, MINUS_INF, MINUS_INF};  // best, log-sum, minus the worst
#pragma unroll
    for (int j = 0; j < KEPT; j++) best[j] = level[j] = 2 * MINUS_INF;
#pragma unroll
    for (int j = 0; j < KEPT; j++) {
        const int i = group.index() + j * group.SIZE;
        if (j * group.SIZE >= count) break;
        const float2 of = i < count ? row[i] : make_float2(2 * MINUS_INF, 2 * MINUS_INF);
        best[j] = of.x, level[j] = of.y;
    }
#pragma unroll
    for (int j = 0; j < KEPT; j++) {
        if (j * group.SIZE >= count) break;
        extremes[0] = fmaxf(extremes[0], best[j]), extremes[1] = fmaxf(extremes[1], level[j]);
        if (best[j] > MINUS_INF / 2) extremes[2] = fmaxf(extremes[2], -best[j]);
    }
    for (int i = group.index() + KEPT * group.SIZE; i < count; i += group.SIZE) {  // over 131,072 items
        extremes[0] = fmaxf(extremes[0], row[i].x), extremes[1] = fmaxf(extremes[1], row[i].y);
        if (row[i].x > MINUS_INF / 2) extremes[2] = fmaxf(extremes[2], -row[i].x);
    }
    group.reduce(extremes, [](float x, float y) { return fmaxf(x, y); });
    float sums[2] = {0, 0};
#pragma unroll
    for (int j = 0; j < KEPT; j++) {
        if (j * group.SIZE >= count) break;
        sums[0] += __expf(level[j] - extremes[1]);
    }
    for (int i = group.index() + KEPT * group.SIZE; i < count; i += group.SIZE) sums[0] += __expf(row[i].y - extremes[1]);
    for (int k = group.index(); k < WIDTH; k += group.SIZE) sums[1] += s.query[k] * s.query[k];
    group.reduce(sums, [](float x, float y) { return x + y; });
    log_sum = extremes[1] + __logf(sums[0]);
    float at = extremes[0];
    if (depth > count) at = MINUS_INF;  // the bests of all blocks are too few
    else if (depth > 1)
        at = threshold([&](float least) {
            int n = 0;
#pragma unroll
            for (int j = 0; j < KEPT; j++) {
                if (j * group.SIZE >= count) break;
                n += best[j] >= least;
            }
            for (int i = group.index() + KEPT * group.SIZE; i < count; i += group.SIZE) n += row[i].x >= least;
            return group.sum(n); }, depth, -extremes[2], at);
    const float error = sqrtf(sums[1]) * table.longest / 1024;
    if (threadIdx.x == 0) s.worst = -extremes[2], s.best = extremes[0], s.error = error;
    at = fmaxf(at - error, MINUS_INF / 2);
    for (int i = threadIdx.x; i < count; i += THREADS)
        if (row[i].x >= at) {
            const int n = atomicAdd(&s.block_count, 1);
            if (n < MAX_BLOCKS) s.blocks[n] = first_block + i;
        }
    __syncthreads();
    return at;
}
