// The training lists most similar to an input (models/neighbors/list_votes.py): one cluster of blocks for each input.
//
// Every list has a sum of similarity in global memory, to which the lists of every input item are added. A block then
// collects those of its own lists that share an item, and the cluster finds the threshold of the most similar ones.

constexpr long long SEEN = -(1ll << 62);  // added to the sums of the input's own items, which then stay negative
constexpr int SIMILARITY_LEVELS = 5;
constexpr int PARTS_OF_ITEM = 4;  // parts into which the lists of an item are divided, each for one warp
constexpr double SIMILARITY_STEPS = 36028797018963968.0;  // 2^55: steps of the order, from 0 to the highest similarity possible

__device__ __forceinline__ void add_number(long long *sum, double number) {
    atomicAdd(reinterpret_cast<word64 *>(sum), static_cast<word64>(__double2ll_rn(number)));
}

// Loads the input: the weight of every item, and where its newest lists are. An item that occurs several times counts at
// its last position; the others have no lists.
__device__ void load_input(const ListMemory &m, const List &list, const LookupShared &s, const LookupScratch &scratch, int item_count) {
    for (int i = threadIdx.x; i < list.length; i += blockDim.x) {
        const int item = list.items[i];
        s.items[i] = item >= 0 && item < item_count ? item : -1;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < list.length; i += blockDim.x) {
        const int item = s.items[i];
        bool repeated = item < 0;
        for (int j = i + 1; j < list.length && !repeated; j++) repeated = s.items[j] == item;
        s.count[i] = 0, s.from[i] = 0, s.weight[i] = 0;
        if (repeated) continue;
        if (cluster_rank() == 0) {
            atomicAdd(reinterpret_cast<word64 *>(scratch.votes + item), static_cast<word64>(SEEN));
            atomicAdd(reinterpret_cast<word64 *>(scratch.linear + item), static_cast<word64>(SEEN));
        }
        if (m.known == 0) continue;
        const long long end = m.list_starts[item + 1], holders = end - m.list_starts[item];
        s.count[i] = static_cast<int>(min(holders, static_cast<long long>(m.most_lists)));
        s.from[i] = end - s.count[i];
        s.weight[i] = m.rarity[item] * (1 - m.recency * (list.length - 1 - i) / list.length);
    }
    __syncthreads();
}

// Adds up the similarity of every list, and finds the position of the newest item that it shares with the input.
__device__ void add_similarities(const ListMemory &m, const List &list, const LookupShared &s, const LookupScratch &scratch) {
    for (int unit = cluster_thread() / 32; unit < list.length * PARTS_OF_ITEM; unit += cluster_threads() / 32) {
        const int i = unit / PARTS_OF_ITEM, part = unit % PARTS_OF_ITEM, count = s.count[i];
        const int *lists = m.lists + s.from[i], *places = m.list_places + s.from[i];
        const double weight = s.weight[i] * m.similarity_scale;
        const int end = count * (part + 1) / PARTS_OF_ITEM;
#pragma unroll 4
        for (int j = count * part / PARTS_OF_ITEM + lane_id(); j < end; j += 32) {
            const int which = __ldg(lists + j), place = __ldg(places + j);
            const double number = weight * __ldg(m.alignment + abs(i - place));
            atomicAdd(scratch.similarity + which, static_cast<word64>(__double2ll_rn(number)));
            if (m.weighs_positions) atomicMax(scratch.last_shared + which, static_cast<unsigned>(i + 1) << 16 | place);
        }
    }
}

// Returns an upper bound of all similarities, the same in every thread of the cluster.
__device__ double highest_similarity(const ListMemory &m, const List &list, const LookupShared &s) {
    double sum = 0;
    for (int i = lane_id(); i < list.length; i += 32)
        if (s.count[i]) sum += s.weight[i];
    for (int step = 16; step; step >>= 1) sum += __shfl_xor_sync(~0u, sum, step);
    return sum * m.highest * (1 + 1e-9);
}

__device__ __forceinline__ word64 similarity_key(double similarity, double steps_per_unit) {
    const double key = similarity * steps_per_unit;
    return key < SIMILARITY_STEPS ? static_cast<word64>(key) : static_cast<word64>(SIMILARITY_STEPS) - 1;
}

// Collects the block's own lists that share an item, counts the first digits of their keys, and clears their sums.
// Returns their number.
__device__ int collect_lists(const ListMemory &m, const LookupShared &s, const LookupScratch &scratch, double steps_per_unit) {
    int *count = s.scratch + 40;
    if (threadIdx.x == 0) *count = 0;
    clear_bins(s.bins);
    double highest = 0;
    for (int first = cluster_thread() / 32 * 32; first < m.known; first += cluster_threads()) {
        const int which = first + lane_id();
        const word64 sum = which < m.known ? __ldcg(scratch.similarity + which) : 0;
        const unsigned lanes = __ballot_sync(~0u, sum != 0);
        if (!lanes) continue;
        int at = 0;
        if (lane_id() == 0) at = atomicAdd(count, __popc(lanes));
        at = __shfl_sync(~0u, at, 0) + __popc(lanes & ((1u << lane_id()) - 1));
        if (sum == 0) continue;
        const double similarity = static_cast<double>(sum) / m.similarity_scale * __ldg(m.list_factor + which);
        scratch.similarity[which] = 0;
        scratch.found_similarity[at] = similarity, scratch.found_list[at] = which;
        const int digit = static_cast<int>(similarity_key(similarity, steps_per_unit) >> (DIGIT * (SIMILARITY_LEVELS - 1)));
        atomicAdd(s.bins + digit, 1u);
        highest = fmax(highest, similarity);
    }
    for (int step = 16; step; step >>= 1) highest = fmax(highest, __shfl_xor_sync(~0u, highest, step));
    if (lane_id() == 0) atomicMax(scratch.totals, static_cast<word64>(__double_as_longlong(highest)));  // positive: the bits are in order
    __syncthreads();
    return *count;
}

// Adds the votes of the block's own lists that are neighbors: the weight of the list times that of the item's position.
__device__ void add_votes(const ListMemory &m, const LookupScratch &scratch, int found, const Threshold &least, double steps_per_unit, double power) {
    const double highest = __longlong_as_double(static_cast<long long>(__ldcg(scratch.totals)));
    for (int first = warp_id() * 32; first < found; first += blockDim.x) {
        const int at = first + lane_id(), which = at < found ? scratch.found_list[at] : 0;
        const double similarity = at < found ? scratch.found_similarity[at] : 0;
        const bool votes = at < found && reaches(least, similarity_key(similarity, steps_per_unit), which);
        double weight = 0;
        long long from = 0, end = 0;
        int shared = 0;
        if (votes) weight = (power == 1 ? similarity / highest : pow(similarity / highest, power)) * m.vote_scale;
        if (votes) from = m.starts[which], end = m.starts[which + 1];
        if (at < found && m.weighs_positions) {
            shared = __ldcg(scratch.last_shared + which) & 0xffff;
            scratch.last_shared[which] = 0;
        }
        for (unsigned lanes = __ballot_sync(~0u, votes); lanes; lanes &= lanes - 1) {
            const int lane = __ffs(lanes) - 1;
            const double of_list = __shfl_sync(~0u, weight, lane);
            const long long begin = __shfl_sync(~0u, from, lane), stop = __shfl_sync(~0u, end, lane);
            const double *of_position = m.position_weight + m.longest - __shfl_sync(~0u, shared, lane);
#pragma unroll 2
            for (long long j = begin + lane_id(); j < stop; j += 32) {
                const double number = m.weighs_positions ? of_list * __ldg(of_position + __ldg(m.places + j)) : of_list;
                add_number(scratch.votes + __ldg(m.items + j), number);
            }
        }
    }
}

// Finds the neighbors of the input and adds their votes. All sums of similarity are 0 again afterwards.
__device__ void find_neighbors(const ListMemory &m, const List &list, const LookupShared &s, const LookupScratch &scratch) {
    const int few = min(max(1, list.length), m.few_items);
    const long long most = min(m.neighbors, m.known) * static_cast<long long>((m.few_items + few - 1) / few);
    const double upper = highest_similarity(m, list, s), steps_per_unit = upper > 0 ? SIMILARITY_STEPS / upper : 0;
    const int found = collect_lists(m, s, scratch, steps_per_unit);
    const auto each = [&](auto count) {
        for (int i = threadIdx.x; i < found; i += blockDim.x)
            count(similarity_key(scratch.found_similarity[i], steps_per_unit), scratch.found_list[i]);
    };
    const int need = static_cast<int>(min(most, static_cast<long long>(m.known)));
    int total;
    const Threshold least = find_threshold<SIMILARITY_LEVELS>(s.bins, scratch.bins, s.scratch, need, need, total, each);
    add_votes(m, scratch, found, least, steps_per_unit, list.length > 1 ? m.sharpness : 1.0);
}
