// The instructions that CUDA C++ has no function for: conversions, tensor-core products, and communication in a cluster.
//
// No header is included: NVRTC has none on a machine without the CUDA toolkit. The tests replace this file to run the
// kernels on a CPU (tests/engine/cuda/emulation).

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

__device__ __forceinline__ float power_of_two(float x) {  // 0 for x far below zero
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
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

// ---- between the blocks of a cluster, and between kernels: instructions of compute capability 9.0 ----
//
// The sources compile for 8.0, too, where these functions stop the kernel; driver.missing() refuses such devices.

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define CLUSTERED
__device__ __forceinline__ int cluster_rank() { return __trap(), 0; }
__device__ __forceinline__ void cluster_arrive() { __trap(); }
__device__ __forceinline__ void cluster_wait() { __trap(); }
__device__ __forceinline__ void store_to_block(int, const void *, unsigned) { __trap(); }
__device__ __forceinline__ void add_to_block(int, const void *, unsigned long long) { __trap(); }
__device__ __forceinline__ void grid_sync(unsigned *) { __trap(); }
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

// Adds to a number in the shared memory of another block, at the same address as `target` has in this one.
__device__ __forceinline__ void add_to_block(int rank, const void *target, unsigned long long value) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(target)), "r"(rank));
    asm volatile("red.relaxed.cluster.shared::cluster.add.u64 [%0], %1;" ::"r"(there), "l"(value) : "memory");
}

// Waits for all blocks of the grid, which must all run at the same time (driver.Kernel, `together`); `arrivals` counts
// blocks and is never reset. All threads of a block have passed a barrier of the block before.
__device__ __forceinline__ void grid_sync(unsigned *arrivals) {
    if (threadIdx.x == 0) {
        unsigned before, now;
        asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], 1;" : "=r"(before) : "l"(arrivals) : "memory");
        const unsigned all = (before / gridDim.x + 1) * gridDim.x;
        do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(arrivals) : "memory");
        while (static_cast<int>(now - all) < 0);
    }
    __syncthreads();
}

// The three kernels are launched together: the next one may start early, and waits when it needs results.
__device__ __forceinline__ void allow_next_kernel() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ __forceinline__ void wait_for_previous_kernel() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#endif
