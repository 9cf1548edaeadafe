// The best few items of one position, from the best of every block: exactly those that it could be given.
//
// Position by position, a list takes the best item it has not taken before. Earlier positions of the same category can
// take at most as many items as they are, so a position's own shortlist need not be deeper than their number plus one.

constexpr int MOST_BLOCKS = 1024, MOST_ITEMS = 2048;
constexpr int KEPT = 16;     // KEPT * THREADS best-of-blocks are held in registers

struct Table {
    const float *weights;  // (places, WIDTH) in fp32: what is on a shortlist is scored anew
    const float *bias;
    const int *item_at;    // the item of every place
    float longest;         // the length of the longest row of weights
};

struct Answer {
    int2 *shortlists;       // (positions, row): place, bits of the score
    int *lengths, *done;    // of the shortlists; positions finished, by list
    int row;
    const unsigned *base;   // the bits of every list before its own items were marked
    int *items;             // out
    float *scores;
    float least_score;
    int *grown;             // one by one: where the chosen item is to be appended, or null
    int *holes;             // out, by list: positions that got no item
};

struct Scratch {
    float query[WIDTH];
    float three[3][WARPS];
    int first_block[TWO_STAGE ? CATEGORIES + 1 : 2];
    int sums[WARPS];
    int blocks[MOST_BLOCKS], block_count;
    float logits[MOST_ITEMS];
    int places[MOST_ITEMS], item_count;
    int last;
};

__device__ int block_sum(int x, int *scratch) {
    x = __reduce_add_sync(~0u, x);
    __syncthreads();  // whoever still reads the last sum
    if (lane_id() == 0) scratch[warp_id()] = x;
    __syncthreads();
    int sum = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) sum += scratch[w];
    return sum;
}

// Who looks through the blocks of a category: all threads together, or, if they are few, every warp by itself: that is
// more work, and no waiting.
template <bool TOGETHER>
struct Crew {
    static constexpr int SIZE = TOGETHER ? THREADS : 32;
    Scratch &s;

    __device__ int member() const { return TOGETHER ? threadIdx.x : lane_id(); }
    __device__ int sum(int x) const { return TOGETHER ? block_sum(x, s.sums) : __reduce_add_sync(~0u, x); }

    template <int COUNT, typename Join>
    __device__ void join(float (&x)[COUNT], Join both) const {
#pragma unroll
        for (int step = 16; step; step >>= 1)
            for (int i = 0; i < COUNT; i++) x[i] = both(x[i], __shfl_xor_sync(~0u, x[i], step));
        if (!TOGETHER) return;
        __syncthreads();
        for (int i = 0; i < COUNT; i++)
            if (lane_id() == 0) s.three[i][warp_id()] = x[i];
        __syncthreads();
        for (int i = 0; i < COUNT; i++) {
            x[i] = s.three[i][0];
            for (int w = 1; w < WARPS; w++) x[i] = both(x[i], s.three[i][w]);
        }
    }
};

// A number that at least `depth` of the values reach, and few more: bisection. `reached` counts all that do.
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

// How many of a list's positions up to this one chose the same category: so deep a shortlist must be.
__device__ int depth_of(const Asked &asked, int first, int position, int category, int *scratch) {
    int same = 0;
    for (int p = first + threadIdx.x; p <= position; p += THREADS) same += asked.category[p] == category;
    return block_sum(same, scratch);
}

// Which blocks may hold what belongs on the shortlist, and a level that this surely reaches.
template <bool TOGETHER>
__device__ float choose_blocks(const Table &table, const float2 *row, Scratch &s, int first_block, int count, int depth,
                               float &log_sum) {
    const Crew<TOGETHER> crew{s};
    float best[KEPT], level[KEPT], extremes[3] = {MINUS_INF, MINUS_INF, MINUS_INF};  // best, log-sum, minus the worst
#pragma unroll
    for (int j = 0; j < KEPT; j++) best[j] = level[j] = 2 * MINUS_INF;
#pragma unroll
    for (int j = 0; j < KEPT; j++) {
        const int i = crew.member() + j * crew.SIZE;
        if (j * crew.SIZE >= count) break;
        const float2 of = i < count ? row[i] : make_float2(2 * MINUS_INF, 2 * MINUS_INF);
        best[j] = of.x, level[j] = of.y;
    }
#pragma unroll
    for (int j = 0; j < KEPT; j++) {
        if (j * crew.SIZE >= count) break;
        extremes[0] = fmaxf(extremes[0], best[j]), extremes[1] = fmaxf(extremes[1], level[j]);
        if (best[j] > MINUS_INF / 2) extremes[2] = fmaxf(extremes[2], -best[j]);
    }
    for (int i = crew.member() + KEPT * crew.SIZE; i < count; i += crew.SIZE) {  // a category of over 131,072 items
        extremes[0] = fmaxf(extremes[0], row[i].x), extremes[1] = fmaxf(extremes[1], row[i].y);
        if (row[i].x > MINUS_INF / 2) extremes[2] = fmaxf(extremes[2], -row[i].x);
    }
    crew.join(extremes, [](float x, float y) { return fmaxf(x, y); });
    float sums[2] = {0, 0};
#pragma unroll
    for (int j = 0; j < KEPT; j++) {
        if (j * crew.SIZE >= count) break;
        sums[0] += __expf(level[j] - extremes[1]);
    }
    for (int i = crew.member() + KEPT * crew.SIZE; i < count; i += crew.SIZE) sums[0] += __expf(row[i].y - extremes[1]);
    for (int k = crew.member(); k < WIDTH; k += crew.SIZE) sums[1] += s.query[k] * s.query[k];
    crew.join(sums, [](float x, float y) { return x + y; });
    log_sum = extremes[1] + __logf(sums[0]);
    float at = extremes[0];
    if (depth > count) at = MINUS_INF;  // even the best of every block would be too few
    else if (depth > 1)
        at = threshold([&](float least) {
            int n = 0;
#pragma unroll
            for (int j = 0; j < KEPT; j++) {
                if (j * crew.SIZE >= count) break;
                n += best[j] >= least;
            }
            for (int i = crew.member() + KEPT * crew.SIZE; i < count; i += crew.SIZE) n += row[i].x >= least;
            return crew.sum(n); }, depth, -extremes[2], at);
    at = fmaxf(at - sqrtf(sums[1]) * table.longest / 1024, MINUS_INF / 2);  // products of fp16 may be off by so much
    for (int i = threadIdx.x; i < count; i += THREADS)
        if (row[i].x >= at) {
            const int n = atomicAdd(&s.block_count, 1);
            if (n < MOST_BLOCKS) s.blocks[n] = first_block + i;
        }
    __syncthreads();
    return at;
}

// The items of the chosen blocks that reach the level, by products of fp16 numbers again: the query is one row of 16.
__device__ void choose_items(const Catalogue &catalogue, const unsigned *blocked, Scratch &s, float at) {
    const int g = lane_id() / 4, t = lane_id() % 4, blocks = min(s.block_count, MOST_BLOCKS);
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
        load_weights<4, STEPS>(w, catalogue.weights, block * 4);
        for (int i = 0; i < 4; i++) bias[i] = two(catalogue.bias + block * BLOCK + 8 * i + 2 * t);
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
            for (int n = atomicAdd(&s.item_count, __popc(good)); good && n < MOST_ITEMS; n++, good &= good - 1) {
                const int i = __ffs(good) - 1;
                s.places[n] = block * BLOCK + 8 * (i / 2) + 2 * t + (i & 1);
            }
    }
    __syncthreads();
}

// Their logits in fp32, half a warp an item.
__device__ void score_items(const Table &table, Scratch &s, int items) {
    const int lane = lane_id() & 15;
    for (int i = threadIdx.x / 16; i < (items + 1) / 2 * 2; i += THREADS / 16) {
        const int place = s.places[min(i, items - 1)];
        float sum = 0;
        for (int k = 4 * lane; k < WIDTH; k += 64) {
            const float4 w = __ldg(reinterpret_cast<const float4 *>(table.weights + static_cast<size_t>(place) * WIDTH + k));
            sum += w.x * s.query[k] + w.y * s.query[k + 1] + w.z * s.query[k + 2] + w.w * s.query[k + 3];
        }
        for (int step = 8; step; step >>= 1) sum += __shfl_xor_sync(~0u, sum, step);
        if (lane == 0 && i < items) s.logits[i] = sum + table.bias[place];
    }
    __syncthreads();
}

// Every item's rank is the number of better ones; four threads count for each.
__device__ void write_shortlist(const Answer &answer, const Scratch &s, int position, int items, int depth, float shift) {
    for (int first = 0; first < items; first += THREADS / 4) {
        const int i = first + threadIdx.x / 4;
        const float mine = i < items ? s.logits[i] : 0;
        const int place = i < items ? s.places[i] : 0;
        int rank = 0;
        for (int j = threadIdx.x & 3; j < items; j += 4) rank += s.logits[j] > mine || (s.logits[j] == mine && s.places[j] < place);
        rank += __shfl_xor_sync(~0u, rank, 1);
        rank += __shfl_xor_sync(~0u, rank, 2);
        if ((threadIdx.x & 3) == 0 && i < items && rank < depth)
            answer.shortlists[static_cast<size_t>(position) * answer.row + rank] = make_int2(place, __float_as_int(mine + shift));
    }
}

__device__ void make_shortlist(const Catalogue &catalogue, const Table &table, const Question &question, const Asked &asked,
                               const Found &found, const Answer &answer, Scratch &s, int position, int list, int first) {
    const int category = asked.category[position], first_block = s.first_block[category];
    const int count = s.first_block[category + 1] - first_block;
    const float category_score = asked.category_score[position];
    if (threadIdx.x < WIDTH) s.query[threadIdx.x] = asked.query32[static_cast<size_t>(position) * WIDTH + threadIdx.x];
    if (threadIdx.x == 0) s.block_count = s.item_count = 0;
    const int depth = depth_of(asked, first, position, category, s.sums);
    float log_sum;
    const float2 *row = found.best + static_cast<size_t>(position) * found.row;
    const float at = count <= KEPT * 32 ? choose_blocks<false>(table, row, s, first_block, count, depth, log_sum)
                                        : choose_blocks<true>(table, row, s, first_block, count, depth, log_sum);
    choose_items(catalogue, question.blocked ? question.blocked + static_cast<size_t>(list) * question.words : nullptr, s, at);
    // Not all fit: then this position has no shortlist, and whoever asked is told so.
    const int items = s.block_count > MOST_BLOCKS || s.item_count > MOST_ITEMS ? 0 : s.item_count;
    score_items(table, s, items);
    write_shortlist(answer, s, position, items, depth, category_score - log_sum);
    if (threadIdx.x == 0) answer.lengths[position] = min(items, depth), asked.counts[category] = 0;
}
