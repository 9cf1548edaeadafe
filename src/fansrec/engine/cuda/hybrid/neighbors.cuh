// The training lists most similar to an input (models/neighbors/list_votes.py): one team of blocks for each input.
//
// Every list has a sum of similarity in global memory, to which the lists of every input item are added; a list is noted
// when its first number is added, so that no step passes over all lists. The sums of items are in the shared memory of a
// cluster if they fit there: a block has those of every eighth part of the catalog.

constexpr long long SEEN = -(1ll << 62);  // added to the votes of the input's own items, which then stay negative
constexpr int SIMILARITY_LEVELS = 5;
constexpr int PARTS_OF_ITEM = 4;  // parts into which the lists of an item are divided, each for one warp
constexpr double SIMILARITY_STEPS = 36028797018963968.0;  // 2^55: steps of the order, from 0 to the highest similarity possible

enum { FOUND, NEIGHBORS };  // of LookupScratch::counts

// Adds a number to one of `sums` of all items, which are those of LookupShared.
__device__ __forceinline__ void add_number(const LookupScratch &scratch, long long *sums, int item, int items, long long number) {
    const int each = own_items(items), owner = item / each;
    if (scratch.votes) atomicAdd(reinterpret_cast<word64 *>(sums + item), static_cast<word64>(number));
    else if (!IS_GRID) add_to_block(owner, sums + (item - owner * each), static_cast<word64>(number));
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
        if (team_rank() == 0) add_number(scratch, s.votes, item, item_count, SEEN);
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
    for (int unit = team_warp(); unit < list.length * PARTS_OF_ITEM; unit += team_warps()) {
        const int i = unit / PARTS_OF_ITEM, part = unit % PARTS_OF_ITEM, count = s.count[i];
        const int *lists = m.lists + s.from[i], *places = m.list_places + s.from[i];
        const double weight = s.weight[i] * m.similarity_scale;
        const int end = count * (part + 1) / PARTS_OF_ITEM;
#pragma unroll 4
        for (int j = count * part / PARTS_OF_ITEM + lane_id(); j < end; j += 32) {
            const int which = __ldg(lists + j), place = __ldg(places + j);
            const word64 number = static_cast<word64>(__double2ll_rn(weight * __ldg(m.alignment + abs(i - place))));
            if (!number) continue;
            if (!atomicAdd(scratch.similarity + which, number)) scratch.found[atomicAdd(scratch.counts + FOUND, 1)] = which;
            if (m.weighs_positions) atomicMax(scratch.last_shared + which, static_cast<unsigned>(i + 1) << 16 | place);
        }
    }
}

// Returns an upper bound of all similarities, the same in every thread of the team.
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

// Computes the similarities of the lists that are found, counts the first digits of their keys, and clears their sums.
__device__ void weigh_lists(const ListMemory &m, const LookupShared &s, const LookupScratch &scratch, int found, double steps_per_unit) {
    clear_bins(s.bins);
    double highest = 0;
    for (int i = team_thread(); i < found; i += team_threads()) {
        const int which = __ldcg(scratch.found + i);
        const double similarity = static_cast<double>(__ldcg(scratch.similarity + which)) / m.similarity_scale * __ldg(m.list_factor + which);
        scratch.similarity[which] = 0;
        scratch.found_similarity[i] = similarity;
        atomicAdd(s.bins + static_cast<int>(similarity_key(similarity, steps_per_unit) >> (DIGIT * (SIMILARITY_LEVELS - 1))), 1u);
        highest = fmax(highest, similarity);
    }
    for (int step = 16; step; step >>= 1) highest = fmax(highest, __shfl_xor_sync(~0u, highest, step));
    if (lane_id() == 0) atomicMax(scratch.totals, static_cast<word64>(__double_as_longlong(highest)));  // positive: the bits are in order
}

// Returns the least similar of the `need` most similar lists; all must be weighed.
__device__ Threshold least_similar(const LookupShared &s, const LookupScratch &scratch, int found, int need, double steps_per_unit) {
    const auto each = [&](auto count) {  // a thread has weighed these lists itself
        for (int i = team_thread(); i < found; i += team_threads())
            count(similarity_key(scratch.found_similarity[i], steps_per_unit), __ldcg(scratch.found + i));
    };
    int total;
    return find_threshold<SIMILARITY_LEVELS>(s.bins, scratch.bins, s.scratch, need, need, total, each);
}

// Notes the lists that are similar enough, with what their votes need.
__device__ void note_neighbors(const ListMemory &m, const LookupScratch &scratch, int found, const Threshold &least, double steps_per_unit, double power) {
    const double highest = __longlong_as_double(static_cast<long long>(__ldcg(scratch.totals)));
    for (int i = team_thread(); i < found; i += team_threads()) {
        const int which = __ldcg(scratch.found + i), shared = m.weighs_positions ? __ldcg(scratch.last_shared + which) & 0xffff : 0;
        const long long from = __ldg(m.starts + which), end = __ldg(m.starts + which + 1);
        const double similarity = scratch.found_similarity[i], share = similarity / highest;
        if (m.weighs_positions) scratch.last_shared[which] = 0;
        if (!reaches(least, similarity_key(similarity, steps_per_unit), which)) continue;
        const double weight = (power == 1 ? share : pow(share, power)) * m.vote_scale;
        scratch.neighbors[atomicAdd(scratch.counts + NEIGHBORS, 1)] = {weight, from, static_cast<int>(end - from), shared};
    }
}

// Adds the votes of a list: its weight times that of the item's position. A warp shares the items.
__device__ void add_votes(const ListMemory &m, const LookupShared &s, const LookupScratch &scratch, const Neighbor *neighbor, int items) {
    const double weight = __ldcg(&neighbor->weight);
    const long long from = __ldcg(&neighbor->from);
    const int length = __ldcg(&neighbor->length);
    const double *of_position = m.position_weight + m.longest - __ldcg(&neighbor->shared);
#pragma unroll 2
    for (int j = lane_id(); j < length; j += 32) {
        const double number = m.weighs_positions ? weight * __ldg(of_position + __ldg(m.places + from + j)) : weight;
        add_number(scratch, s.votes, __ldg(m.items + from + j), items, __double2ll_rn(number));
    }
}

// Finds the neighbors of the input and adds their votes. All sums of similarity are 0 again afterwards.
__device__ void find_neighbors(const ListMemory &m, const List &list, const LookupShared &s, const LookupScratch &scratch, int items) {
    const int few = min(max(1, list.length), m.few_items), found = __ldcg(scratch.counts + FOUND);
    const long long most = min(m.neighbors, m.known) * static_cast<long long>((m.few_items + few - 1) / few);
    const int need = static_cast<int>(min(most, static_cast<long long>(m.known)));
    const double upper = highest_similarity(m, list, s), steps_per_unit = upper > 0 ? SIMILARITY_STEPS / upper : 0;
    weigh_lists(m, s, scratch, found, steps_per_unit);
    Threshold least = {0, 0};
    if (found > need) least = least_similar(s, scratch, found, need, steps_per_unit);
    else team_sync();
    note_neighbors(m, scratch, found, least, steps_per_unit, list.length > 1 ? m.sharpness : 1.0);
    team_sync();
    const int neighbors = __ldcg(scratch.counts + NEIGHBORS);
    for (int i = team_warp(); i < neighbors; i += team_warps()) add_votes(m, s, scratch, scratch.neighbors + i, items);
}
