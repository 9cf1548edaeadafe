// Every position against every item of its category, 32 items at a time; of each 32 only two numbers are kept.
//
// Items lie in blocks of 32 that never cross the border of a category (`place_of` says where an item lies). A warp takes
// a block and all positions that chose its category, so weights are read once, and no row of logits is ever written.

constexpr int BLOCK = 32;

struct Catalogue {
    const uint4 *weights;         // (blocks, 32 items), in the order in which lanes take them
    const float *bias;            // (blocks * 32); where a block has no item, MINUS_INF
    const int *category_of_block;
    const int *first_block;       // (N + 1): of every category
    int blocks;
};

struct Found {  // (positions, row) of blocks
    float2 *best;  // the best allowed logit of a block, and the logarithm of the sum of all its exponentials
    int row;
};

__device__ __forceinline__ void rows_of_queries(unsigned (&a)[WIDTH / 16][4], const half_t *queries, int upper, int lower) {
    const int t = lane_id() % 4;
    const unsigned *u = reinterpret_cast<const unsigned *>(queries + static_cast<size_t>(upper) * WIDTH) + t;
    const unsigned *l = reinterpret_cast<const unsigned *>(queries + static_cast<size_t>(lower) * WIDTH) + t;
#pragma unroll
    for (int k = 0; k < WIDTH / 16; k++) {
        a[k][0] = u[8 * k], a[k][1] = l[8 * k];
        a[k][2] = u[8 * k + 4], a[k][3] = l[8 * k + 4];
    }
}

// Of eight logits of one row that a lane holds: the best allowed one and the log-sum-exp, over the row's four lanes.
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
compare(const __grid_constant__ Catalogue catalogue, const __grid_constant__ Question question,
        const __grid_constant__ Asked asked, const __grid_constant__ Found found) {
    const int g = lane_id() / 4, t = lane_id() % 4;
    bool waited = false;
    for (int block = blockIdx.x * WARPS + warp_id(); block < catalogue.blocks; block += gridDim.x * WARPS) {
        const int category = catalogue.category_of_block[block];
        uint4 w[4][STEPS];
        float2 bias[4];
        if (!waited) {  // weights do not depend on what is asked: the first are here by the time that is known
            load_weights<4, STEPS>(w, catalogue.weights, block * 4);
            wait_for_last();
            let_next_start();
        }
        const int count = asked.counts[category];
        if (count > 0) {
            if (waited) load_weights<4, STEPS>(w, catalogue.weights, block * 4);
            for (int i = 0; i < 4; i++) bias[i] = two(catalogue.bias + block * BLOCK + 8 * i + 2 * t);
            const int *bucket = asked.buckets + static_cast<size_t>(category) * asked.positions;
            const int column = block - catalogue.first_block[category];
            for (int first = blockIdx.y * TILE; first < count; first += gridDim.y * TILE) {
                const int upper = bucket[min(first + g, count - 1)], lower = bucket[min(first + g + 8, count - 1)];
                unsigned a[WIDTH / 16][4];
                rows_of_queries(a, asked.query16, upper, lower);
                unsigned not_upper = 0, not_lower = 0;
                if (question.blocked) {
                    not_upper = question.blocked[static_cast<size_t>(asked.list[upper]) * question.words + block];
                    not_lower = question.blocked[static_cast<size_t>(asked.list[lower]) * question.words + block];
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
                if (t == 0 && first + g < count) found.best[static_cast<size_t>(upper) * found.row + column] = high;
                if (t == 0 && first + g + 8 < count) found.best[static_cast<size_t>(lower) * found.row + column] = low;
            }
        }
        waited = true;
    }
    if (!waited) wait_for_last(), let_next_start();
}
