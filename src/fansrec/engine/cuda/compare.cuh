// Compares every position with every item of its category, 32 items at a time; of each 32, only two numbers are kept.
//
// Items lie in blocks of 32 slots that never cross the border of a category (`slot_of` is the slot of an item). A warp
// takes a block and all positions of its category, so weights are read once, and no row of logits is ever written.

__device__ __forceinline__ void load_queries(unsigned (&a)[WIDTH / 16][4], const half_t *queries, int upper, int lower) {
    const int t = lane_id() % 4;
    const unsigned *u = reinterpret_cast<const unsigned *>(queries + static_cast<size_t>(upper) * WIDTH) + t;
    const unsigned *l = reinterpret_cast<const unsigned *>(queries + static_cast<size_t>(lower) * WIDTH) + t;
#pragma unroll
    for (int k = 0; k < WIDTH / 16; k++) {
        a[k][0] = u[8 * k], a[k][1] = l[8 * k];
        a[k][2] = u[8 * k + 4], a[k][3] = l[8 * k + 4];
    }
}

// Returns the best allowed logit and the log-sum-exp of a row, of which each of four lanes holds eight logits.
__device__ __forceinline__ float2 summary(const float (&x)[8], unsigned blocked) {
    const int t = lane_id() % 4;
    float best = MINUS_INF, allowed = MINUS_INF, sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        best = fmaxf(best, x[i]);
        if (!(blocked >> (i / 2 * 8 + 2 * t + (i & 1)) & 1)) allowed = fmaxf(allowed, x[i]);
    }
    best = quad_max(best), allowed = quad_max(allowed);
#pragma unroll
    for (int i = 0; i < 8; i++) sum += __expf(x[i] - best);
    return make_float2(allowed, best + __logf(quad_sum(sum)));
}

struct BlockOfItems {
    uint4 w[4][STEPS];
    float2 bias[4];

    __device__ __forceinline__ void load_items(const Catalog &catalog, int block) { load_weights<4, STEPS>(w, catalog.weights, block * 4); }

    __device__ __forceinline__ void load_bias(const Catalog &catalog, int block) {
        for (int i = 0; i < 4; i++) bias[i] = two(catalog.bias + block * BLOCK + 8 * i + 2 * (lane_id() % 4));
    }
};

// Compares a block with positions of its category: with those from `first` to `end`, a tile at every `step`.
__device__ __forceinline__ void compare_block(const Catalog &catalog, const Request &request, const Queries &queries, const BlockBest &block_best,
                                              const BlockOfItems &items, int block, int category, int first, int end, int step) {
    const int g = lane_id() / 4, t = lane_id() % 4, column = block - catalog.first_block[category];
    const int *bucket = queries.buckets + static_cast<size_t>(category) * queries.positions;
    for (; first < end; first += step) {
        const int upper = bucket[min(first + g, end - 1)], lower = bucket[min(first + g + 8, end - 1)];
        unsigned a[WIDTH / 16][4];
        load_queries(a, queries.query16, upper, lower);
        unsigned not_upper = 0, not_lower = 0;
        if (request.blocked) {
            not_upper = request.blocked[static_cast<size_t>(queries.list[upper]) * request.words + block];
            not_lower = request.blocked[static_cast<size_t>(queries.list[lower]) * request.words + block];
        }
        float x[2][8];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float c[4] = {items.bias[i].x, items.bias[i].y, items.bias[i].x, items.bias[i].y};
#pragma unroll
            for (int j = 0; j < STEPS; j++) {
                product(c, a[2 * j], items.w[i][j].x, items.w[i][j].y);
                product(c, a[2 * j + 1], items.w[i][j].z, items.w[i][j].w);
            }
            x[0][2 * i] = c[0], x[0][2 * i + 1] = c[1], x[1][2 * i] = c[2], x[1][2 * i + 1] = c[3];
        }
        const float2 high = summary(x[0], not_upper), low = summary(x[1], not_lower);
        if (t == 0 && first + g < end) block_best.best[static_cast<size_t>(upper) * block_best.stride + column] = high;
        if (t == 0 && first + g + 8 < end) block_best.best[static_cast<size_t>(lower) * block_best.stride + column] = low;
    }
}

// For few lists: a warp has the weights of a block of items in registers before the positions are known.
extern "C" __global__ void __launch_bounds__(THREADS)
compare(const __grid_constant__ Catalog catalog, const __grid_constant__ Request request,
        const __grid_constant__ Queries queries, const __grid_constant__ BlockBest block_best) {
    bool waited = false;
    for (int block = blockIdx.x * WARPS + warp_id(); block < catalog.blocks; block += gridDim.x * WARPS) {
        const int category = catalog.category_of_block[block];
        BlockOfItems items;
        if (!waited) {
            items.load_items(catalog, block);
            wait_for_previous_kernel();
            allow_next_kernel();
        }
        const int count = queries.counts[category];
        if (count > 0) {
            if (waited) items.load_items(catalog, block);
            items.load_bias(catalog, block);
            compare_block(catalog, request, queries, block_best, items, block, category, blockIdx.y * TILE, count, gridDim.y * TILE);
        }
        waited = true;
    }
    if (!waited) wait_for_previous_kernel(), allow_next_kernel();
}

constexpr int COMPARED = TWO_STAGE ? CATEGORIES : 1;  // categories
constexpr int UNIT = 8 * TILE;                         // positions

struct Units {
    int first[COMPARED + 1];  // of every category
};

// Divides the comparisons of all categories into units; one warp does.
__device__ void count_units(const Catalog &catalog, const Queries &queries, Units &units) {
    int all = 0;
    for (int from = 0; from < COMPARED; from += 32) {
        const int category = from + lane_id(), at = min(category, COMPARED - 1);
        const int blocks = catalog.first_block[at + 1] - catalog.first_block[at];
        int up_to = category < COMPARED ? (queries.counts[at] + UNIT - 1) / UNIT * blocks : 0;
        for (int step = 1; step < 32; step *= 2) {
            const int before = __shfl_up_sync(~0u, up_to, step);
            if (lane_id() >= step) up_to += before;
        }
        if (category < COMPARED) units.first[category + 1] = all + up_to;
        all += __shfl_sync(~0u, up_to, 31);
    }
    if (lane_id() == 0) units.first[0] = 0;
}

// Returns the category of a unit: the last one that begins no later.
__device__ __forceinline__ int category_of_unit(const Units &units, int unit) {
    int category = 0, last = COMPARED - 1;
    while (category < last) {
        const int middle = (category + last + 1) / 2;
        if (units.first[middle] <= unit) category = middle;
        else last = middle - 1;
    }
    return category;
}

// For many lists: most of their positions may have the same few categories, so the work is divided evenly among the warps,
// in units of one block of items and UNIT positions.
extern "C" __global__ void __launch_bounds__(THREADS)
compare_many(const __grid_constant__ Catalog catalog, const __grid_constant__ Request request,
             const __grid_constant__ Queries queries, const __grid_constant__ BlockBest block_best) {
    __shared__ Units units;
    wait_for_previous_kernel();
    allow_next_kernel();
    if (warp_id() == 0) count_units(catalog, queries, units);
    __syncthreads();
    for (int unit = blockIdx.x * WARPS + warp_id(); unit < units.first[COMPARED]; unit += gridDim.x * WARPS) {
        const int category = category_of_unit(units, unit), of_category = unit - units.first[category];
        const int first_block = catalog.first_block[category], blocks = catalog.first_block[category + 1] - first_block;
        const int block = first_block + of_category % blocks, first = of_category / blocks * UNIT;
        BlockOfItems items;
        items.load_items(catalog, block);
        items.load_bias(catalog, block);
        compare_block(catalog, request, queries, block_best, items, block, category, first, min(first + UNIT, queries.counts[category]), TILE);
    }
}
