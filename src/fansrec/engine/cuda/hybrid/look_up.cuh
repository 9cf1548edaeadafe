// The scores of list memory and linear part for every item of the catalog: one team of blocks for each input.

// With RAW_SUMS, which linear models alone are compiled with, a score is the sum of the weights itself (score_order.cuh).

constexpr float FLOOR = 1e-3f;  // as in models/hybrid/model.py

// Adds the rows of the input items, weighted by recency.
__device__ void add_linear_rows(const LinearPart &linear, const List &list, const LookupShared &s, const LookupScratch &scratch, int item_count) {
    for (int unit = team_warp(); unit < list.length * PARTS_OF_ITEM; unit += team_warps()) {
        const int i = unit / PARTS_OF_ITEM, part = unit % PARTS_OF_ITEM, item = s.items[i];
        if (item < 0) continue;
        const double recency = exp((i + 1 - list.length) / linear.decay) * linear.scale;
        const int *items = linear.items + static_cast<size_t>(item) * linear.width;
        const float *weights = linear.weights + static_cast<size_t>(item) * linear.width;
        const int end = linear.width * (part + 1) / PARTS_OF_ITEM;
#pragma unroll 4
        for (int j = linear.width * part / PARTS_OF_ITEM + lane_id(); j < end; j += 32) {
            const float weight = __ldg(weights + j);
            if (weight != 0) add_number(scratch, s.linear, __ldg(items + j), item_count, __double2ll_rn(weight * recency));
        }
    }
}

__device__ __forceinline__ bool is_seen(long long votes) { return votes < SEEN / 2; }

// The sums of a block's own items, and the number of the first.
struct OwnSums {
    long long *votes, *linear;  // linear: null if there are none
    int first, count;
    bool in_shared;

    __device__ __forceinline__ long long at(const long long *sums, int i) const { return !sums ? 0 : in_shared ? sums[i] : __ldcg(sums + i); }
};

__device__ __forceinline__ OwnSums own_sums(const LookupShared &s, const LookupScratch &scratch, int items, bool has_linear) {
    const int each = own_items(items), first = team_rank() * each, offset = scratch.votes ? first : 0;
    return {s.votes + offset, has_linear ? s.linear + offset : nullptr, first, min(each, items - first), !scratch.votes};
}

// Adds the rows of a square matrix: a block adds up the sums of its own items, so that no two threads add to the same one.
__device__ void add_matrix_rows(const LinearPart &linear, const List &list, const LookupShared &s, const OwnSums &own) {
    for (int i = threadIdx.x; i < list.length; i += blockDim.x) s.weight[i] = exp((i + 1 - list.length) / linear.decay) * linear.scale;
    __syncthreads();
    for (int j = threadIdx.x; j < own.count; j += blockDim.x) {
        const float *column = linear.weights + own.first + j;
        long long sum = 0;
#pragma unroll 4
        for (int i = 0; i < list.length; i++)
            if (s.items[i] >= 0) sum += __double2ll_rn(__ldg(column + static_cast<size_t>(s.items[i]) * linear.width) * s.weight[i]);
        own.linear[j] = sum;
    }
}

// Finds the highest sums of both parts among the items that are not in the input.
__device__ void find_highest(const OwnSums &own, const LookupScratch &scratch) {
    long long votes = 0, linear = 0;
#pragma unroll 4
    for (int i = threadIdx.x; i < own.count; i += blockDim.x) {
        const long long vote = own.at(own.votes, i), sum = own.at(own.linear, i);
        if (!is_seen(vote)) votes = max(votes, vote), linear = max(linear, sum);
    }
    for (int step = 16; step; step >>= 1) {
        votes = max(votes, __shfl_xor_sync(~0u, votes, step));
        linear = max(linear, __shfl_xor_sync(~0u, linear, step));
    }
    if (lane_id() == 0) {
        if (votes > 0) atomicMax(scratch.totals + 1, static_cast<word64>(votes));
        if (linear > 0) atomicMax(scratch.totals + 2, static_cast<word64>(linear));
    }
}

__device__ __forceinline__ float log_score(long long sum, double per_unit) {
    return sum > 0 ? log1pf(static_cast<float>(sum * per_unit)) : 0.0f;
}

__device__ __forceinline__ bool is_blocked(const Rules &rules, int item) {
    return rules.blocked && rules.blocked[item / 32] >> (item & 31) & 1;
}

// Writes the scores of the block's own items, clears their sums, and counts the scores of items that may be selected.
__device__ void write_scores(const Mixture &mixture, const Rules &rules, const LookupShared &s, const LookupScratch &scratch, const OwnSums &own, float *scores) {
    const double votes_highest = static_cast<double>(__ldcg(scratch.totals + 1)), linear_highest = static_cast<double>(__ldcg(scratch.totals + 2));
    const double per_vote = votes_highest > 0 ? 1 / (votes_highest * FLOOR) : 0, per_sum = linear_highest > 0 ? 1 / (linear_highest * FLOOR) : 0;
    clear_bins(s.bins);
#pragma unroll 4
    for (int i = threadIdx.x; i < own.count; i += blockDim.x) {
        const long long votes = own.at(own.votes, i), linear = own.at(own.linear, i);
        float score = 0;
        if (votes) own.votes[i] = 0;
        if (linear) own.linear[i] = 0;
        if (is_seen(votes)) score = rules.keep_seen ? 0 : SEEN_SCORE;
        else if (votes > 0 || linear > 0) score = mixture.memory * log_score(votes, per_vote) + mixture.linear * log_score(linear, per_sum);
        scores[own.first + i] = score;
        if (score > 0 && !is_blocked(rules, own.first + i)) atomicAdd(s.bins + bin_of(mixture, score), 1u);
    }
}

// Writes the scores of a linear model alone, as write_scores does. Items without any weight are not counted: they are many,
// in few bins.
__device__ void write_sums(const LinearPart &linear, const Mixture &mixture, const Rules &rules, const LookupShared &s, const OwnSums &own, float *scores) {
    const double per_unit = 1 / linear.scale;
    clear_bins(s.bins);
#pragma unroll 4
    for (int i = threadIdx.x; i < own.count; i += blockDim.x) {
        const int item = own.first + i;
        const long long votes = own.at(own.votes, i), sum = own.at(own.linear, i);
        const bool selectable = rules.keep_seen || !is_seen(votes);
        const float score = static_cast<float>(sum * per_unit) + __ldg(linear.base + item);
        if (votes) own.votes[i] = 0;
        if (sum) own.linear[i] = 0;
        scores[item] = selectable ? score : SEEN_SCORE;
        if (selectable && score > 0 && (sum > 0 || !own.linear) && !is_blocked(rules, item)) atomicAdd(s.bins + bin_of(mixture, score), 1u);
    }
}

// Finds a score that at least k items reach by these parts alone. Limits per group may skip items, so that there is none.
__device__ void write_least(const Mixture &mixture, const Rules &rules, const LookupShared &s, const LookupScratch &scratch, float *least, int k) {
    merge_bins(s.bins, scratch.bins + (LEVELS - 1) * BINS);
    if (team_rank() != 0) return;
    const Bin bin = find_bin(scratch.bins + (LEVELS - 1) * BINS, k, s.scratch);
    const bool enough = bin.total >= k && !rules.groups;
    if (threadIdx.x == 0) *least = enough ? least_of_bin(mixture, bin.digit) : LOWEST_SCORE;
}

// `encode` starts at once and runs meanwhile: it needs nothing from here, and waits for the end of this kernel at its own.
extern "C" __global__ void TEAMED __launch_bounds__(1024)
look_up(const __grid_constant__ ListMemory memory_part, const __grid_constant__ LinearPart linear, const __grid_constant__ Mixture mixture,
        const __grid_constant__ Rules rules, const __grid_constant__ Request request, const __grid_constant__ LookupScratch all,
        const __grid_constant__ Sparse sparse, const __grid_constant__ InlineItems inline_items) {
    wait_for_previous_kernel();
    allow_next_kernel();
    const int team = blockIdx.x / TEAM, teams = gridDim.x / TEAM;
    LookupScratch scratch = all;  // of this team
    scratch.similarity += static_cast<size_t>(team) * memory_part.known;
    scratch.last_shared += static_cast<size_t>(team) * memory_part.known;
    scratch.found += static_cast<size_t>(team) * memory_part.known;
    scratch.found_similarity += static_cast<size_t>(team) * memory_part.known;
    scratch.neighbors += static_cast<size_t>(team) * memory_part.known;
    if (scratch.votes) {
        scratch.votes += static_cast<size_t>(team) * mixture.items;
        scratch.linear += static_cast<size_t>(team) * mixture.items;
    }
    scratch.bins += static_cast<size_t>(team) * LEVELS * BINS;
    scratch.totals += team * 4;
    scratch.counts += team * 4;
    const int thread = team_thread();
    const bool has_linear = linear.width > 0;
    if (!scratch.votes) {
        for (int i = threadIdx.x; i < own_items(mixture.items) * (has_linear ? 2 : 1); i += blockDim.x) reinterpret_cast<long long *>(memory)[i] = 0;
        team_sync();
    }
    for (int number = team; number < request.lists; number += teams) {
        const List list = list_at(request, inline_items, number);
        const LookupShared s = lookup_memory(list.length, scratch, mixture.items, has_linear);
        load_input(memory_part, list, s, scratch, mixture.items);
        clear_levels(scratch.bins);
        if (memory_part.known) add_similarities(memory_part, list, s, scratch);
        const OwnSums own = own_sums(s, scratch, mixture.items, has_linear);
        if (has_linear && (!RAW_SUMS || linear.items)) add_linear_rows(linear, list, s, scratch, mixture.items);
        else if (has_linear) add_matrix_rows(linear, list, s, own);
        team_sync();
        if (memory_part.known) {
            find_neighbors(memory_part, list, s, scratch, mixture.items);
            team_sync();
        }
        float *scores = sparse.scores + static_cast<size_t>(number) * mixture.items;
        if (RAW_SUMS) {
            write_sums(linear, mixture, rules, s, own, scores);
        } else {
            find_highest(own, scratch);
            team_sync();
            write_scores(mixture, rules, s, scratch, own, scores);
        }
        write_least(mixture, rules, s, scratch, sparse.least + number, list.k);
        if (thread < 4) scratch.totals[thread] = 0, scratch.counts[thread] = 0;  // nobody reads them any more
        if (number + teams < request.lists) team_sync();  // before the next list changes what others may still read
    }
}
