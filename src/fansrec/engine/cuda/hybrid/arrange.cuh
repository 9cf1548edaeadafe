// The order of the selected items (`expected_positions` of models/hybrid/classifier.py): one team of blocks for each list.
//
// The affinity of a mask to an item is its logit plus the logarithm of the probability of its category. Over all masks of
// a list these are the weights of the item's expected position.

// Computes the transform of a row, if the model has one; the warp shares the work.
__device__ void transform_row(const TiedWeights &tied, const ArrangeShared &s) {
    for (int d = lane_id(); d < WIDTH; d += 32) {
        float sum = tied.transform ? tied.transform_vectors[d] : s.row[d];
        if (tied.transform) {
            for (int i = 0; i < WIDTH; i++) sum += s.row[i] * __ldg(tied.transform + i * WIDTH + d);
            sum = gelu(sum);
        }
        s.transformed[d] = sum;
    }
    __syncwarp();
    if (!tied.transform) return;
    Row row[1];
    for (int p = 0; p < PAIRS; p++) row[0].of[p] = two(s.transformed + column(p));
    normalize(row, tied.transform_vectors + WIDTH, tied.transform_vectors + 2 * WIDTH);
    for (int p = 0; p < PAIRS; p++) *reinterpret_cast<float2 *>(s.transformed + column(p)) = row[0].of[p];
    __syncwarp();
}

// Computes the logits of all categories at a row; returns the logarithm of the sum of their exponentials.
__device__ float category_logits(const TiedWeights &tied, const ArrangeShared &s) {
    float highest = MINUS_INF, sum = 0;
    for (int c = lane_id(); c < CATEGORIES; c += 32) {
        float logit = tied.category_bias[c];
        for (int d = 0; d < WIDTH; d++) logit += s.transformed[d] * __ldg(tied.category + d * CATEGORIES + c);
        s.categories[c] = logit, highest = fmaxf(highest, logit);
    }
    for (int step = 16; step; step >>= 1) highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, step));
    for (int c = lane_id(); c < CATEGORIES; c += 32) sum += expf(s.categories[c] - highest);
    for (int step = 16; step; step >>= 1) sum += __shfl_xor_sync(~0u, sum, step);
    __syncwarp();
    return highest + logf(sum);
}

// Computes the affinity of a mask to all items of the list.
__device__ void score_mask(const TiedWeights &tied, const ArrangeShared &s, const float *state, float *affinity, int count) {
    for (int d = lane_id(); d < WIDTH; d += 32) s.row[d] = __ldcg(state + d);
    __syncwarp();
    transform_row(tied, s);
    const float log_sum = TWO_STAGE ? category_logits(tied, s) : 0;
    for (int j = lane_id(); j < count; j += 32) {
        const float4 *item = reinterpret_cast<const float4 *>(tied.items + static_cast<size_t>(s.items[j]) * WIDTH);
        float sum = 0;
#pragma unroll 4
        for (int d = 0; d < WIDTH; d += 4) {
            const float4 w = __ldg(item + d / 4);
            sum += s.transformed[d] * w.x + s.transformed[d + 1] * w.y + s.transformed[d + 2] * w.z + s.transformed[d + 3] * w.w;
        }
        affinity[j] = tied.scale * sum + (TWO_STAGE ? s.categories[tied.category_of[s.items[j]]] - log_sum : 0);
    }
    __syncwarp();
}

// Returns the mean of all masks' positions, weighted by the softmax of their affinities to an item.
__device__ float expected_position(const float *affinity, int stride, int masks) {
    float2 sum = make_float2(MINUS_INF, 0);
    float weighted = 0;
    for (int p = 0; p < masks; p++) {
        const float x = __ldcg(affinity + static_cast<size_t>(p) * stride), highest = fmaxf(sum.x, x), keep = expf(sum.x - highest), more = expf(x - highest);
        sum = make_float2(highest, sum.y * keep + more), weighted = weighted * keep + more * p;
    }
    return weighted / sum.y;
}

// Writes the items in the order of their expected positions; of equal ones in the order they have.
__device__ void write_arranged(const ArrangeShared &s, const float *expected, int *items, float *scores, int count) {
    for (int j = threadIdx.x; j < count; j += blockDim.x) s.expected[j] = __ldcg(expected + j);
    __syncthreads();
    for (int j = threadIdx.x; j < count; j += blockDim.x) {
        int rank = 0;
        for (int i = 0; i < count; i++) rank += s.expected[i] < s.expected[j] || (s.expected[i] == s.expected[j] && i < j);
        items[rank] = s.items[j], scores[rank] = s.scores[j];
    }
}

extern "C" __global__ void TEAMED __launch_bounds__(THREADS)
arrange(const __grid_constant__ TiedWeights tied, const __grid_constant__ Request request, const __grid_constant__ States states,
        const __grid_constant__ Arrangement all, const __grid_constant__ Selected selected) {
    const int team = blockIdx.x / TEAM, teams = gridDim.x / TEAM;
    float *affinity = all.affinity + static_cast<size_t>(team) * all.stride * all.stride, *expected = all.expected + team * all.stride;
    wait_for_previous_kernel();
    allow_next_kernel();
    for (int number = team; number < request.lists; number += teams) {
        const int first = request.lists == 1 ? 0 : request.first_positions[number];
        const int k = request.lists == 1 ? request.k : request.first_positions[number + 1] - first;
        const ArrangeShared s = arrange_memory(k);
        int count = 0;  // empty positions are the last ones
        for (int i = threadIdx.x; i < k; i += blockDim.x) s.items[i] = __ldcg(selected.items + first + i), s.scores[i] = __ldcg(selected.scores + first + i);
        __syncthreads();
        while (count < k && s.items[count] >= 0) count++;
        for (int p = team_thread() / 32; p < k; p += team_threads() / 32)
            score_mask(tied, s, states.masks + static_cast<size_t>(first + p) * WIDTH, affinity + static_cast<size_t>(p) * all.stride, count);
        team_sync();
        for (int j = team_thread(); j < count; j += team_threads()) expected[j] = expected_position(affinity + j, all.stride, k);
        team_sync();
        if (team_rank() == 0) write_arranged(s, expected, selected.items + first, selected.scores + first, count);
        team_sync();  // before the next list overwrites what others may still read
    }
}
