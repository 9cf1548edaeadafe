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

extern "C" __global__ void __launch_bounds__(THREADS)
compare(const __grid_constant__ Catalog catalog, const __grid_constant__ Request request,
        const __grid_constant__ Queries queries, const __grid_constant__ BlockBest block_best) {
    const int g = lane_id() / 4, t = lane_id() % 4;
    bool waited = false;
    for (int block = blockIdx.x * WARPS + warp_id(); block < catalog.blocks; block += gridDim.x * WARPS) {
        const int category = catalog.category_of_block[block];
        uint4 w[4][STEPS];
        float2 bias[4];
        if (!waited) {  // weights do not depend on the request, so the first are loaded before it is known
            load_weights<4, STEPS>(w, catalog.weights, block * 4);
            wait_for_previous_kernel();
            allow_next_kernel();
        }
        const int count = queries.counts[category];
        if (count > 0) {
            if (waited) load_weights<4, STEPS>(w, catalog.weights, block * 4);
            for (int i = 0; i < 4; i++) bias[i] = two(catalog.bias + block * BLOCK + 8 * i + 2 * t);
            const int *bucket = queries.buckets + static_cast<size_t>(category) * queries.positions;
            const int column = block - catalog.first_block[category];
            for (int first = blockIdx.y * TILE; first < count; first += gridDim.y * TILE) {
                const int upper = bucket[min(first + g, count - 1)], lower = bucket[min(first + g + 8, count - 1)];
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
                    float c[4] = {bias[i].x, bias[i].y, bias[i].x, bias[i].y};
#pragma unroll
                    for (int j = 0; j < STEPS; j++) {
                        product(c, a[2 * j], w[i][j].x, w[i][j].y);
                        product(c, a[2 * j + 1], w[i][j].z, w[i][j].w);
                    }
                    x[0][2 * i] = c[0], x[0][2 * i + 1] = c[1], x[1][2 * i] = c[2], x[1][2 * i + 1] = c[3];
                }
                const float2 high = summary(x[0], not_upper), low = summary(x[1], not_lower);
                if (t == 0 && first + g < count) block_best.best[static_cast<size_t>(upper) * block_best.stride + column] = high;
                if (t == 0 && first + g + 8 < count) block_best.best[static_cast<size_t>(lower) * block_best.stride + column] = low;
            }
        }
        waited = true;
    }
    if (!waited) wait_for_previous_kernel(), allow_next_kernel();
}
