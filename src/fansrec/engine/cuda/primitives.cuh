// The building blocks of the kernels: tensor-core products, reductions over a warp, and communication in a cluster.
//
// The kernels are compiled at run time for the sizes of one model. No header is included: NVRTC has none on a machine
// without the CUDA toolkit.

constexpr int PAIRS = WIDTH / 64;       // pairs of adjacent columns of a row that a lane holds
constexpr int OWN_ROWS = TILE / WARPS;  // rows of a tile that a warp owns: its own number, and every eighth from there
constexpr float EPSILON = 1e-5f;        // of layer norms
constexpr float MINUS_INF = -1e30f;

__device__ __forceinline__ int lane_id() { return threadIdx.x & 31; }
__device__ __forceinline__ int warp_id() { return threadIdx.x >> 5; }

__device__ __forceinline__ unsigned pack(float low, float high) {
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

__device__ __forceinline__ float2 unpack(unsigned both) {
    float low, high;
    asm("{.reg .f16 l, h;\n mov.b32 {l, h}, %2;\n cvt.f32.f16 %0, l;\n cvt.f32.f16 %1, h;}" : "=f"(low), "=f"(high) : "r"(both));
    return make_float2(low, high);
}

// Reductions over the four lanes that hold one row of a tensor-core tile.
__device__ __forceinline__ float quad_sum(float x) {
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
}

__device__ __forceinline__ float quad_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

__device__ __forceinline__ float power_of_two(float x) {  // 0 for x far below zero
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Uses the error function of Abramowitz and Stegun 7.1.26, with an error of at most 1.5e-7 and a third of erff's
// instructions.
__device__ __forceinline__ float gelu(float x) {
    const float a = fabsf(x) * 0.70710678118654752f, t = __fdividef(1.0f, 1.0f + 0.3275911f * a);
    const float tail = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) * t;
    return 0.5f * x * (1.0f + copysignf(1.0f - tail * __expf(-a * a), x));
}

__device__ __forceinline__ unsigned shared_address(const void *pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// ---- tensor cores: C (16, 8) += A (16, 16) B (16, 8), fp16 in, fp32 out ----

__device__ __forceinline__ void product(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void short_product(float (&c)[4], unsigned a0, unsigned a1, unsigned b0) {  // A (16, 8), B (8, 8)
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a0), "r"(a1), "r"(b0));
}

// A (16, 16) from rows in shared memory, `stride` halves apart.
__device__ __forceinline__ void load_rows(unsigned (&a)[4], const half_t *from, int stride) {
    const int lane = lane_id();
    const unsigned address = shared_address(from + (lane & 15) * stride + (lane >> 4) * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(address)
                 : "memory");
}

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

// ---- between the blocks of a cluster, and between kernels: instructions of compute capability 9.0 ----
//
// The sources compile for 8.0, too, where these functions stop the kernel; driver.missing() refuses such devices.

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define CLUSTERED
__device__ __forceinline__ int cluster_rank() { return __trap(), 0; }
__device__ __forceinline__ void cluster_arrive() { __trap(); }
__device__ __forceinline__ void cluster_wait() { __trap(); }
__device__ __forceinline__ void store_to_block(int, const void *, unsigned) { __trap(); }
__device__ __forceinline__ void allow_next_kernel() {}
__device__ __forceinline__ void wait_for_previous_kernel() {}
#else
#define CLUSTERED __cluster_dims__(CLUSTER, 1, 1)
__device__ __forceinline__ int cluster_rank() {
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// Stores a value to the shared memory of another block, at the same address as `target` has in this one.
__device__ __forceinline__ void store_to_block(int rank, const void *target, unsigned value) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(target)), "r"(rank));
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(value) : "memory");
}

// The three kernels are launched together: the next one may start early, and waits when it needs results.
__device__ __forceinline__ void allow_next_kernel() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ __forceinline__ void wait_for_previous_kernel() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#endif

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
