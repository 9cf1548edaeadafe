// The encoder of the hybrid model: from item indices to the states that its classifier reads.

// Writes the states of the block's own tokens that are read.
__device__ void write_states(const States &states, const Shared &s, const List &list, int rank) {
    for (int row = 0; row < read_rows(list.masks); row++) {
        const int token = read_token(list, row), tile = token / TILE;
        if (tile % CLUSTER != rank) continue;
        const float *state = s.sums + (tile / CLUSTER * TILE + token % TILE) * SUMS;
        float *target = states.rows + (static_cast<size_t>(list.number) * READ_ROWS + row) * WIDTH;
        for (int i = threadIdx.x; i < WIDTH; i += THREADS) target[i] = state[i];
    }
    if (!list.all_masks) return;
    for (int i = threadIdx.x; i < list.masks * WIDTH; i += THREADS) {
        const int token = list.first_mask + i / WIDTH, tile = token / TILE;
        if (tile % CLUSTER == rank)
            states.masks[static_cast<size_t>(list.first_position) * WIDTH + i] = s.sums[(tile / CLUSTER * TILE + token % TILE) * SUMS + i % WIDTH];
    }
}

template <bool EARLY>
__device__ __forceinline__ void encode_states(const Weights &w, const Request &request, const States &states, const InlineItems &inline_items) {
    const Shared s = divide_memory(request.tiles);
    const int rank = cluster_rank();
    allow_next_kernel();  // `blend` waits for the end of this kernel
    Projection projection;
    projection.load(w.matrices, head_of(rank, 0) * HEAD_TILES);
#pragma unroll 4
    for (int i = threadIdx.x; i < VECTORS / 4; i += THREADS)
        reinterpret_cast<float4 *>(s.vectors)[i] = __ldg(reinterpret_cast<const float4 *>(w.vectors) + i);
    for (int number = blockIdx.x / CLUSTER; number < request.lists; number += gridDim.x / CLUSTER) {
        const List list = list_at(request, inline_items, number);
        cluster_arrive();
        load_tokens(w, s, list, rank, [](int, int, bool) {});
        __syncthreads();
        embed(w, s, list, rank);
        cluster_arrive(), cluster_wait();
        run_layers<EARLY>(w, s, list, rank, projection);
        write_states(states, s, list, rank);
        __syncthreads();  // before the sums of the next list are written
    }
    // `look_up` runs meanwhile. It started after the kernels of the call before, so nothing that these read is overwritten;
    // `blend` waits for this kernel only, which therefore must not end before `look_up`.
    wait_for_previous_kernel();
}

extern "C" __global__ void CLUSTERED __launch_bounds__(THREADS, 1)
encode_one(const __grid_constant__ Weights w, const __grid_constant__ Request request, const __grid_constant__ States states,
           const __grid_constant__ InlineItems inline_items) {
    encode_states<true>(w, request, states, inline_items);
}

extern "C" __global__ void CLUSTERED __launch_bounds__(THREADS, 2)
encode_many(const __grid_constant__ Weights w, const __grid_constant__ Request request, const __grid_constant__ States states,
            const __grid_constant__ InlineItems inline_items) {
    encode_states<false>(w, request, states, inline_items);
}
