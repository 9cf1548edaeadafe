// The weighted sum of all parts for every item, and the best items under the rules: one team of blocks for each list.

constexpr int SCORE_LEVELS = 4;  // of a bin's number and the bits of a score

// Returns the probability that the network gives an item.
__device__ __forceinline__ float probability_of(const TiedWeights &tied, const BlendShared &s, const BlendScratch &scratch, int item, int rows) {
    const int category = TWO_STAGE ? __ldg(tied.category_of + item) : 0, q = TWO_STAGE ? s.read_rank[category] : 0;
    if (q < 0) return s.by_list[category] * __ldg(tied.prior + item);
    const int at = s.first_logit[q] + item - (TWO_STAGE ? __ldg(tied.starts + category) : 0);
    float sum = 0;
    for (int r = 0; r < READ_ROWS; r++)
        if (r < rows) sum += s.weights[q * READ_ROWS + r] * expf(__ldcg(scratch.logits + static_cast<size_t>(at) * READ_ROWS + r) - s.log_sums[q * READ_ROWS + r]);
    return sum;
}

// Returns bits that are in the order of the scores; 0 for an item that cannot be selected.
__device__ __forceinline__ unsigned key_of(float score, float least, float min_score) {
    const bool selectable = score >= least && score >= min_score && score < -MINUS_INF;  // false for NaN
    return selectable ? bits_of(score) : 0;
}

__device__ __forceinline__ int reversed(int item) { return 0x7fffffff - item; }  // of equal scores, the first item is the best

// Adds the network's part to the score of an item, and notes the item if it can be selected.
__device__ __forceinline__ void score_item(const TiedWeights &tied, const Mixture &mixture, const Rules &rules, const BlendShared &s,
                                           const BlendScratch &scratch, float score, float least, int rows, int item) {
    if (is_blocked(rules, item)) return;
    if (mixture.network > 0) {
        const float chance = probability_of(tied, s, scratch, item, rows) * mixture.items;
        if (score + mixture.network * chance < least) return;  // log(1 + x) is at most x: many items need no logarithm
        score += mixture.network * log1pf(chance);
    }
    const unsigned key = key_of(score, least, rules.min_score);
    if (key) scratch.entries[atomicAdd(scratch.counts, 1)] = static_cast<word64>(key) << 32 | static_cast<unsigned>(reversed(item));
}

constexpr int AT_A_TIME = 4;  // items of a thread whose scores are loaded together

// Scores the items that can reach `least`, a score that as many items as are requested reach without the network. The items
// of a category follow each other, and neighboring warps are in different blocks: no block gets all that must be scored.
__device__ void score_items(const TiedWeights &tied, const Mixture &mixture, const Rules &rules, const BlendShared &s, const BlendScratch &scratch,
                            const float *sparse, float least, int rows) {
    const int threads = team_threads();
    for (int first = (warp_id() * TEAM + team_rank()) * 32 + lane_id(); first < mixture.items; first += AT_A_TIME * threads) {
        float scores[AT_A_TIME];
        int reaching = 0;
#pragma unroll
        for (int n = 0; n < AT_A_TIME; n++) {
            const int item = first + n * threads;
            scores[n] = item < mixture.items ? __ldcg(sparse + item) : SEEN_SCORE;
        }
#pragma unroll
        for (int n = 0; n < AT_A_TIME; n++) {
            const int item = first + n * threads, category = TWO_STAGE && item < mixture.items ? __ldg(tied.category_of + item) : 0;
            if (scores[n] >= LOWEST_SCORE && scores[n] + s.bounds[category] >= least) reaching |= 1 << n;
        }
        for (; reaching; reaching &= reaching - 1) {
            const int n = __ffs(reaching) - 1;
            const float score = n < 2 ? (n == 0 ? scores[0] : scores[1]) : (n == 2 ? scores[2] : scores[3]);
            score_item(tied, mixture, rules, s, scratch, score, least, rows, first + n * threads);
        }
    }
}

__device__ __forceinline__ word64 order_of(const Mixture &mixture, unsigned key) {
    return static_cast<word64>(bin_of(mixture, score_of(key))) << (DIGIT * (SCORE_LEVELS - 1)) | key;
}

// Collects the best entries, at least `need` of them. Most items without any score are in the first bin, which is counted
// apart, since threads that add to the same number wait for each other.
__device__ void collect_candidates(const Mixture &mixture, const BlendShared &s, const BlendScratch &scratch, int entries, int need) {
    const auto each = [&](auto count) {
        for (int i = team_thread(); i < entries; i += team_threads()) {
            const word64 entry = __ldcg(scratch.entries + i);
            count(order_of(mixture, static_cast<unsigned>(entry >> 32)), static_cast<int>(entry & 0x7fffffff));
        }
    };
    clear_bins(s.bins);
    int in_first_bin = 0, total;
    each([&](word64 order, int) {
        const int bin = static_cast<int>(order >> (DIGIT * (SCORE_LEVELS - 1)));
        if (bin == 0) in_first_bin++;
        else atomicAdd(s.bins + bin, 1u);
    });
    in_first_bin = __reduce_add_sync(~0u, in_first_bin);
    if (lane_id() == 0 && in_first_bin) atomicAdd(s.bins, static_cast<unsigned>(in_first_bin));
    const Threshold least = find_threshold<SCORE_LEVELS>(s.bins, scratch.bins, s.scratch, need, CANDIDATES, total, each);
    for (int i = team_thread(); i < entries; i += team_threads()) {
        const word64 entry = __ldcg(scratch.entries + i);
        if (!reaches(least, order_of(mixture, static_cast<unsigned>(entry >> 32)), static_cast<int>(entry & 0x7fffffff))) continue;
        const int at = atomicAdd(scratch.counts + 1, 1);
        if (at < CANDIDATES) scratch.candidates[at] = entry;
    }
    team_sync();
}

// Sorts the candidates in descending order, a power of two of them, with a bitonic network.
__device__ void sort_candidates(word64 *candidates, int count) {
    int size = 2;
    while (size < count) size *= 2;
    for (int i = count + threadIdx.x; i < size; i += blockDim.x) candidates[i] = 0;
    __syncthreads();
    for (int length = 2; length <= size; length *= 2)
        for (int distance = length / 2; distance; distance /= 2) {
            for (int pair = threadIdx.x; pair < size / 2; pair += blockDim.x) {
                const int i = pair / distance * 2 * distance + pair % distance, j = i + distance;
                const word64 a = candidates[i], b = candidates[j];
                if ((a < b) == ((i & length) == 0)) candidates[i] = b, candidates[j] = a;
            }
            __syncthreads();
        }
}

__device__ __forceinline__ int item_of(word64 candidate) { return reversed(static_cast<int>(candidate & 0x7fffffff)); }

// Returns whether the limit of its group leaves room for a candidate after those before it.
__device__ bool within_limit(const Rules &rules, const word64 *candidates, int at) {
    if (!rules.groups) return true;
    const int group = rules.groups[item_of(candidates[at])];
    int earlier = 0;
    for (int i = 0; i < at && earlier < rules.max_per_group; i++) earlier += rules.groups[item_of(candidates[i])] == group;
    return earlier < rules.max_per_group;
}

// Writes the best candidates within the limits of their groups; one block of the team does.
__device__ void write_selected(const Rules &rules, const BlendShared &s, const word64 *candidates, int count, int *items, float *scores,
                               int *unfilled, int k, bool are_all, bool to_host) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) s.candidates[i] = __ldcg(candidates + i);
    __syncthreads();
    sort_candidates(s.candidates, count);
    int selected = 0;
    for (int first = 0; first < count && selected < k; first += blockDim.x) {
        const int i = first + threadIdx.x;
        const bool fits = i < count && within_limit(rules, s.candidates, i);
        int fitting;
        const int position = selected + block_scan(fits, s.scratch, fitting) - 1;
        if (fits && position < k) {
            items[position] = item_of(s.candidates[i]);
            scores[position] = score_of(static_cast<unsigned>(s.candidates[i] >> 32));
        }
        selected += fitting;
    }
    for (int p = selected + threadIdx.x; p < k; p += blockDim.x) items[p] = -1, scores[p] = 0;
    if (to_host) __threadfence_system();  // before the host sees `unfilled`
    __syncthreads();
    if (threadIdx.x == 0) *unfilled = selected < k && !are_all;
}

extern "C" __global__ void TEAMED __launch_bounds__(BLEND_THREADS)
blend(const __grid_constant__ TiedWeights tied, const __grid_constant__ Mixture mixture, const __grid_constant__ Rules rules,
      const __grid_constant__ Request request, const __grid_constant__ Sparse sparse, const __grid_constant__ States states,
      const __grid_constant__ BlendScratch all, const __grid_constant__ Selected selected) {
    const int team = blockIdx.x / TEAM, teams = gridDim.x / TEAM;
    const BlendShared s = blend_memory();
    BlendScratch scratch = all;  // of this team
    scratch.entries += static_cast<size_t>(team) * mixture.items;
    scratch.logits += static_cast<size_t>(team) * all.logit_stride * READ_ROWS;
    scratch.sums += team * SLOTS * READ_CATEGORIES * READ_ROWS;
    scratch.candidates += team * CANDIDATES;
    scratch.bins += static_cast<size_t>(team) * LEVELS * BINS;
    scratch.counts += team * 2;
    wait_for_previous_kernel();
    allow_next_kernel();
    for (int number = team; number < request.lists; number += teams) {
        const int first = request.lists == 1 ? 0 : request.first_positions[number];
        const int k = request.lists == 1 ? request.k : request.first_positions[number + 1] - first;
        const int rows = read_rows(min(k, request.most_masks));
        clear_levels(scratch.bins);
        if (team_thread() < 2) scratch.counts[threadIdx.x] = 0;
        if (mixture.network > 0) {
            for (int i = threadIdx.x; i < rows * WIDTH; i += blockDim.x)
                s.rows[i] = __ldcg(states.rows + static_cast<size_t>(number) * READ_ROWS * WIDTH + i);
            __syncthreads();
            transform_rows(tied, s, rows);
            if (TWO_STAGE) find_categories(tied, s, rows);
            select_categories(tied, s, rows, mixture.items);
            score_categories(tied, s, scratch, rows, mixture.items);
        }
        team_sync();
        if (mixture.network > 0) find_log_sums(s, scratch);
        find_bounds(tied, mixture, s);
        score_items(tied, mixture, rules, s, scratch, sparse.scores + static_cast<size_t>(number) * mixture.items, __ldcg(sparse.least + number), rows);
        team_sync();
        const int entries = __ldcg(scratch.counts);
        if (entries > CANDIDATES) collect_candidates(mixture, s, scratch, entries, rules.groups ? CANDIDATES : k);
        if (team_rank() == 0) {
            const bool are_all = entries <= CANDIDATES;
            write_selected(rules, s, are_all ? scratch.entries : scratch.candidates, are_all ? entries : min(__ldcg(scratch.counts + 1), CANDIDATES),
                           selected.items + first, selected.scores + first, selected.unfilled + number, k, are_all, request.lists == 1);
        }
        if (number + teams < request.lists) team_sync();  // before the next list clears what others may still read
    }
}
