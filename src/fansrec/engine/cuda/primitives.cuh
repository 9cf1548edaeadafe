// The building blocks of the kernels: products of matrices, reductions over a warp, and rows that a warp holds.
//
// The kernels are compiled at run time for the sizes of one model.

constexpr int PAIRS = WIDTH / 64;       // pairs of adjacent columns of a row that a lane holds
constexpr int OWN_ROWS = TILE / WARPS;  // rows of a tile that a warp owns: its own number, and every eighth from there
constexpr float EPSILON = 1e-5f;        // of layer norms
constexpr float MINUS_INF = -1e30f;

constexpr int STEPS = WIDTH / 32, WIDE_STEPS = FEEDFORWARD / 32;
constexpr int QKV_SIZE = 3 * WIDTH / 8 * STEPS * 32, OUT_SIZE = SASREC ? 0 : WIDTH / 8 * STEPS * 32;  // in uint4
constexpr int WIDEN_SIZE = FEEDFORWARD / 8 * STEPS * 32, NARROW_SIZE = WIDTH / 8 * WIDE_STEPS * 32;
constexpr int LAYER_MATRICES = QKV_SIZE + OUT_SIZE + WIDEN_SIZE + NARROW_SIZE;
constexpr int LOW_MATRICES = LAYERS * LAYER_MATRICES;  // from a weight to its second half

// Reductions over the four lanes that hold one row of a tensor-core tile.
__device__ __forceinline__ float quad_sum(float x) {
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
}

__device__ __forceinline__ float quad_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

// Uses the error function of Abramowitz and Stegun 7.1.26, with an error of at most 1.5e-7 and a third of erff's
// instructions.
__device__ __forceinline__ float gelu(float x) {
    const float a = fabsf(x) * 0.70710678118654752f, t = __fdividef(1.0f, 1.0f + 0.3275911f * a);
    const float tail = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) * t;
    return 0.5f * x * (1.0f + copysignf(1.0f - tail * __expf(-a * a), x));
}

// The activation of the feed-forward part.
__device__ __forceinline__ float activation(float x) { return SASREC ? fmaxf(x, 0.0f) : gelu(x); }

// Loads weights that are stored in the order of the lanes: for 8 outputs and 32 inputs, 16 bytes per lane (packing.py).
template <int TILES, int STEPS>
__device__ __forceinline__ void load_weights(uint4 (&w)[TILES][STEPS], const uint4 *from, int first) {
    for (int i = 0; i < TILES; i++)
        for (int j = 0; j < STEPS; j++) w[i][j] = __ldg(from + ((first + i) * STEPS + j) * 32 + lane_id());
}

// Multiplies sixteen rows in shared memory with TILES * 8 outputs. Few outputs are summed in several independent parts,
// which hide the latency of an addition.
template <int TILES, int STEPS>
__device__ __forceinline__ void multiply(float (&c)[TILES][4], const half_t *rows, int stride, const uint4 (&w)[TILES][STEPS]) {
    constexpr int PARTS = TILES >= 4 ? 1 : 4 / TILES;
    float sum[PARTS][TILES][4] = {};
#pragma unroll
    for (int j = 0; j < STEPS; j++) {
        unsigned a[4], b[4];
        load_rows(a, rows + j * 32, stride);
        load_rows(b, rows + j * 32 + 16, stride);
#pragma unroll
        for (int i = 0; i < TILES; i++) {
            product(sum[2 * j % PARTS][i], a, w[i][j].x, w[i][j].y);
            product(sum[(2 * j + 1) % PARTS][i], b, w[i][j].z, w[i][j].w);
        }
    }
#pragma unroll
    for (int i = 0; i < TILES; i++)
        for (int e = 0; e < 4; e++)
            for (int part = 0; part < PARTS; part++) c[i][e] += sum[part][i][e];
}

// ---- numbers as one fp16 number, or as the sum of two (HALVES), which has 22 bits ----

struct Split {
    unsigned high, low;  // two numbers each
};

__device__ __forceinline__ Split split(float x, float y) {
    const unsigned high = pack(x, y);
    if (HALVES == 1) return {high, 0};
    const float2 rounded = unpack(high);
    return {high, pack(x - rounded.x, y - rounded.y)};
}

// Stores two numbers; the second halves are `size` further on.
__device__ __forceinline__ void store_split(half_t *to, int size, float x, float y) {
    const Split both = split(x, y);
    *reinterpret_cast<unsigned *>(to) = both.high;
    if (HALVES == 2) *reinterpret_cast<unsigned *>(to + size) = both.low;
}

// A matrix, or TILES * 8 outputs of it in groups of GROUP tiles that are JUMP tiles apart. It is loaded into registers
// before it is needed; two halves would not fit there, and are loaded when they are multiplied.
template <int TILES, int STEPS, int GROUP = TILES, int JUMP = 0>
struct Matrix {
    uint4 w[HALVES == 1 ? TILES : 1][HALVES == 1 ? STEPS : 1];
    const uint4 *from;

    __device__ __forceinline__ const uint4 *tile(int i) const { return from + (i / GROUP * JUMP + i % GROUP) * STEPS * 32 + lane_id(); }

    __device__ __forceinline__ void load(const uint4 *matrix, int first) {
        from = matrix + first * STEPS * 32;
        if (HALVES == 1)
            for (int i = 0; i < TILES; i++)
                for (int j = 0; j < STEPS; j++) w[i][j] = __ldg(tile(i) + j * 32);
    }
};

// Multiplies sixteen rows in shared memory, whose second halves are `size` further on. The product of two second halves
// is too small to matter.
template <int TILES, int STEPS, int GROUP, int JUMP>
__device__ __forceinline__ void multiply(float (&c)[TILES][4], const half_t *rows, int stride, int size, const Matrix<TILES, STEPS, GROUP, JUMP> &m) {
    if constexpr (HALVES == 1) {
        multiply<TILES, STEPS>(c, rows, stride, m.w);
    } else {
#pragma unroll
        for (int j = 0; j < STEPS; j++) {
            unsigned a[4], b[4], a_low[4], b_low[4];
            load_rows(a, rows + j * 32, stride), load_rows(b, rows + j * 32 + 16, stride);
            load_rows(a_low, rows + size + j * 32, stride), load_rows(b_low, rows + size + j * 32 + 16, stride);
#pragma unroll
            for (int i = 0; i < TILES; i++) {
                const uint4 w = __ldg(m.tile(i) + j * 32), w_low = __ldg(m.tile(i) + LOW_MATRICES + j * 32);
                product(c[i], a_low, w.x, w.y), product(c[i], b_low, w.z, w.w);
                product(c[i], a, w_low.x, w_low.y), product(c[i], b, w_low.z, w_low.w);
                product(c[i], a, w.x, w.y), product(c[i], b, w.z, w.w);
            }
        }
    }
}

// ---- rows held by a warp: a lane has columns 2 * lane and 2 * lane + 1, and those 64 further on ----

struct Row {
    float2 of[PAIRS];
};

__device__ __forceinline__ int column(int pair) { return 64 * pair + 2 * lane_id(); }

__device__ __forceinline__ float2 two(const float *from) { return *reinterpret_cast<const float2 *>(from); }

// Normalizes several rows at once, so that one does not wait for the sums of another.
template <int COUNT>
__device__ __forceinline__ void normalize(Row (&x)[COUNT], const float *weight, const float *bias) {
    float sum[COUNT] = {}, squares[COUNT] = {};
    for (int i = 0; i < COUNT; i++)
        for (int p = 0; p < PAIRS; p++) {
            const float2 of = x[i].of[p];
            sum[i] += of.x + of.y, squares[i] += of.x * of.x + of.y * of.y;
        }
#pragma unroll
    for (int step = 16; step; step >>= 1)
        for (int i = 0; i < COUNT; i++) {
            sum[i] += __shfl_xor_sync(~0u, sum[i], step);
            squares[i] += __shfl_xor_sync(~0u, squares[i], step);
        }
    for (int i = 0; i < COUNT; i++) {
        const float mean = sum[i] / WIDTH, scale = rsqrtf(fmaxf(squares[i] / WIDTH - mean * mean, 0.0f) + EPSILON);
        for (int p = 0; p < PAIRS; p++) {
            const float2 w = two(weight + column(p)), b = two(bias + column(p)), of = x[i].of[p];
            x[i].of[p] = make_float2((of.x - mean) * scale * w.x + b.x, (of.y - mean) * scale * w.y + b.y);
        }
    }
}
