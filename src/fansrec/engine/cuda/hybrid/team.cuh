// The blocks of threads that work on one list together: a cluster or, for a request of one list, TEAM blocks of a whole
// grid. A grid has more multiprocessors, a cluster has barriers that take a third of the time and shared memory that all
// of its blocks can add to.

constexpr bool IS_GRID = TEAM > CLUSTER;
#if TEAM > 8  // CLUSTER
#define TEAMED
#else
#define TEAMED CLUSTERED
#endif

__device__ unsigned team_arrivals;  // of all blocks at the barriers of a grid, from all launches

__device__ __forceinline__ int team_rank() { return IS_GRID ? blockIdx.x : cluster_rank(); }
__device__ __forceinline__ int team_thread() { return team_rank() * blockDim.x + threadIdx.x; }
__device__ __forceinline__ int team_threads() { return TEAM * blockDim.x; }
__device__ __forceinline__ int team_warp() { return team_thread() / 32; }
__device__ __forceinline__ int team_warps() { return team_threads() / 32; }

__device__ __forceinline__ void team_sync() {
    __syncthreads();  // the barrier of a cluster needs whole warps
    if (IS_GRID) grid_sync(&team_arrivals);
    else cluster_arrive(), cluster_wait();
}
