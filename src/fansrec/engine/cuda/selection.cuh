// From shortlists to distinct items. One block of threads computes the shortlist of one position, one block selects the
// items of all positions of a list.

__device__ __forceinline__ bool is_taken(const unsigned *taken, int slot) { return taken[slot >> 5] >> (slot & 31) & 1; }

// Returns what `find_beyond_first` finds, index and slot, in a shortlist in global memory: several loads are in flight.
__device__ __noinline__ int2 find_in_global_memory(const int2 *shortlist, int length, const unsigned *taken, int no_slot) {
    constexpr int MANY = 4;
    for (int from = 32; from < length; from += 32 * MANY) {
        int slots[MANY];
#pragma unroll
        for (int n = 0; n < MANY; n++) {
            const int i = from + 32 * n + lane_id();
            slots[n] = i < length ? __ldcg(&shortlist[i].x) : no_slot;
        }
#pragma unroll
        for (int n = 0; n < MANY; n++) {
            const unsigned lanes = __ballot_sync(~0u, !is_taken(taken, slots[n]));
            if (lanes) return make_int2(from + 32 * n + __ffs(lanes) - 1, slots[n]);
        }
    }
    return make_int2(-1, no_slot);
}

// Returns the index of the first free slot of a shortlist beyond its first 32, or -1.
__device__ __forceinline__ int find_beyond_first(const Answer &answer, const SelectionState &state, int first, int p, int &slot) {
    if (!state.further) {
        const int2 *shortlist = answer.shortlists + static_cast<size_t>(first + p) * answer.stride;
        const int2 found = find_in_global_memory(shortlist, __ldcg(answer.lengths + first + p), state.taken, state.no_slot);
        slot = found.y;
        return found.x;
    }
    for (int at = 32; at <= p; at += 32) {
        slot = at + lane_id() <= p ? state.further[(p - 32) * (p - 31) / 2 + at - 32 + lane_id()] : state.no_slot;
        const unsigned lanes = __ballot_sync(~0u, !is_taken(state.taken, slot));
        if (lanes) return at + __ffs(lanes) - 1;
    }
    return -1;
}

// Writes the positions of every eighth category in order and returns their number.
__device__ __forceinline__ int gather_positions(const SelectionState &state, int *own_positions, int k) {
    int count = 0;
    for (int at = 0; at < k; at += 32) {
        const int p = at + lane_id();
        const unsigned lanes = __ballot_sync(~0u, p < k && state.category[p] % WARPS == warp_id());
        if (lanes >> lane_id() & 1) own_positions[count + __popc(lanes & (1u << lane_id()) - 1)] = p;
        count += __popc(lanes);
    }
    __syncwarp();
    return count;
}

// Selects the first slot of each position's shortlist that no earlier position has taken. Categories share no items, so
// each warp handles its own. Slots are loaded two positions ahead and tested one ahead; the slot that is taken in
// between is compared.
__device__ __forceinline__ void select_slots(const Answer &answer, const SelectionState &state, int first, int k) {
    const int lane = lane_id();
    int *own_positions = state.own_positions + warp_id() * k;
    const int count = gather_positions(state, own_positions, k);
    if (count == 0) return;
    int slot = state.first[own_positions[0] * 32 + lane], next = state.first[own_positions[min(1, count - 1)] * 32 + lane], last = -1;
    unsigned word = state.taken[slot >> 5];
    for (int n = 0; n < count; n++) {
        const int p = own_positions[n], after_next = state.first[own_positions[min(n + 2, count - 1)] * 32 + lane];
        const unsigned next_word = state.taken[next >> 5];
        const unsigned lanes = __ballot_sync(~0u, !(word >> (slot & 31) & 1) && slot != last);
        int found = __ffs(lanes) - 1;
        if (!lanes) found = find_beyond_first(answer, state, first, p, slot);
        last = found < 0 ? -1 : __shfl_sync(~0u, slot, found & 31);
        if (lane == (found & 31) && found >= 0) atomicOr(state.taken + (slot >> 5), 1u << (slot & 31));
        if (lane == 0) state.chosen[p] = found;
        __syncwarp();
        slot = next, word = next_word, next = after_next;
    }
}

// Selects as select_slots does, but skips the items of groups that have enough already. The categories share groups, so one
// warp goes through all positions.
__device__ void select_in_groups(const ItemTable &table, const Answer &answer, const SelectionState &state, int first, int k) {
    int *groups = state.own_positions;  // of the selected items
    for (int p = 0; p < k; p++) {
        const int2 *shortlist = answer.shortlists + static_cast<size_t>(first + p) * answer.stride;
        const int length = __ldcg(answer.lengths + first + p);
        int found = -1, group = -1;
        for (int at = 0; at < length && found < 0; at += 32) {
            const int i = at + lane_id(), slot = i < length ? __ldcg(&shortlist[i].x) : state.no_slot;
            const int own = i < length ? __ldg(answer.groups + table.item_at[slot]) : -1;
            int same = 0;
            for (int q = 0; q < p; q++) same += groups[q] == own;
            const unsigned lanes = __ballot_sync(~0u, !is_taken(state.taken, slot) && same < answer.max_per_group);
            if (!lanes) continue;
            const int lane = __ffs(lanes) - 1;
            found = at + lane, group = __shfl_sync(~0u, own, lane);
            if (lane_id() == lane) state.taken[slot >> 5] |= 1u << (slot & 31);
        }
        if (lane_id() == 0) state.chosen[p] = found, groups[p] = group;
        __syncwarp();
    }
}

// Loads all shortlists of a list, or only their first slots, into the state: each warp 32 slots at a time, with several loads in flight.
__device__ __forceinline__ void load_shortlists(const Answer &answer, const SelectionState &state, int first, int k) {
    constexpr int MANY = 8;
    for (int from = 0, rows = k, at = 0, base = 0; rows > 0;) {
        int slot[MANY], p[MANY], i[MANY];
        bool known[MANY];
#pragma unroll
        for (int n = 0; n < MANY; n++) {  // first the beginnings of all shortlists, then the rest of the longer ones
            int row = from + n * WARPS + warp_id() - base, depth = at, left = rows;
            while (left > 0 && row >= left) row -= left, depth += 32, left = state.further ? k - depth : 0;
            p[n] = left > 0 ? depth + row : -1, i[n] = depth + lane_id();
            const bool there = p[n] >= 0 && i[n] <= p[n];
            known[n] = there && i[n] < __ldcg(answer.lengths + first + max(p[n], 0));
            slot[n] = there ? __ldcg(&answer.shortlists[static_cast<size_t>(first + p[n]) * answer.stride + i[n]].x) : 0;
        }
#pragma unroll
        for (int n = 0; n < MANY; n++) {
            const int it = known[n] ? slot[n] : state.no_slot;
            if (p[n] >= 0 && i[n] < 32) state.first[p[n] * 32 + i[n]] = it;
            else if (p[n] >= 0 && i[n] <= p[n]) state.further[(p[n] - 32) * (p[n] - 31) / 2 + i[n] - 32] = it;
        }
        from += MANY * WARPS;
        while (rows > 0 && from - base >= rows) base += rows, at += 32, rows = state.further ? k - at : 0;
    }
}

__device__ __forceinline__ void select_items(const ItemTable &table, const Request &request, const Queries &queries, const Answer &answer,
                                       const SelectionState &state, int list, int first, int k) {
    const int category = threadIdx.x < k ? queries.category[first + threadIdx.x] : 0;
    if (!answer.groups) load_shortlists(answer, state, first, k);
    if (threadIdx.x < k) state.category[threadIdx.x] = category;
    for (int p = threadIdx.x + THREADS; p < k; p += THREADS) state.category[p] = queries.category[first + p];
    if (threadIdx.x == 0) state.taken[state.no_slot / 32] = ~0u;
    __syncthreads();
    if (!answer.groups) select_slots(answer, state, first, k);
    else if (warp_id() == 0) select_in_groups(table, answer, state, first, k);
    __syncthreads();
    int unfilled = 0;
    for (int p = threadIdx.x; p < k; p += THREADS) {
        int item = -1, slot = 0;
        float score = 0;
        if (state.chosen[p] >= 0) {
            const int2 entry = __ldcg(answer.shortlists + static_cast<size_t>(first + p) * answer.stride + state.chosen[p]);
            score = __int_as_float(entry.y), slot = entry.x;
            if (score >= answer.min_score) item = table.item_at[slot];
        }
        answer.items[first + p] = item, answer.scores[first + p] = score;
        unfilled += item < 0;
        if (answer.append_to) {
            *answer.append_to = item;
            if (item >= 0) atomicOr(request.blocked + slot / 32, 1u << (slot & 31));
        }
    }
    if (request.lists == 1) __threadfence_system();  // before the host sees `unfilled`
    unfilled = block_sum(unfilled, state.sums);
    if (threadIdx.x == 0) answer.unfilled[list] = unfilled;
}

// Unblocks the list's own items, so that the next call finds the bits as this one found them.
__device__ void restore_blocked(const Request &request, const Queries &queries, const Answer &answer, int list) {
    if (!request.mark_seen || answer.append_to) return;
    const int from = request.lists == 1 ? 0 : request.offsets[list];
    const int length = request.lists == 1 ? request.length : request.offsets[list + 1] - from;
    for (int i = threadIdx.x; i < length; i += THREADS) {
        const int block = queries.seen[from + i];
        request.blocked[static_cast<size_t>(list) * request.words + block] = answer.base_blocked[block];
    }
}

// A position's list, with the number of its first position and of all its positions.
struct PlaceOfPosition {
    int list, first, k;
};

__device__ __forceinline__ PlaceOfPosition place_of(const Request &request, const Queries &queries, int position) {
    if (request.lists == 1) return {0, 0, request.k};
    const int list = queries.list[position], first = request.first_positions[list];
    return {list, first, request.first_positions[list + 1] - first};
}

__device__ __forceinline__ void clear_taken(int blocks) {
    for (int i = threadIdx.x; i < blocks; i += THREADS) reinterpret_cast<unsigned *>(memory)[i] = 0;
}

__device__ __forceinline__ void load_first_blocks(const Catalog &catalog, Scratch &s) {
    for (int i = threadIdx.x; i <= (TWO_STAGE ? CATEGORIES : 1); i += THREADS) s.first_block[i] = __ldg(catalog.first_block + i);
    __syncthreads();
}

// For few lists: the last block of threads to finish a shortlist of a list selects its items.
extern "C" __global__ void __launch_bounds__(THREADS)
decide(const __grid_constant__ Catalog catalog, const __grid_constant__ ItemTable table, const __grid_constant__ Request request,
       const __grid_constant__ Queries queries, const __grid_constant__ BlockBest block_best, const __grid_constant__ Answer answer) {
    __shared__ Scratch s;
    clear_taken(catalog.blocks);
    load_first_blocks(catalog, s);
    wait_for_previous_kernel();
    allow_next_kernel();  // of the next step in autoregressive generation
    const PlaceOfPosition at = place_of(request, queries, blockIdx.x);
    make_shortlist(catalog, table, request, queries, block_best, answer, s, blockIdx.x, at.list, at.first);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) s.last = atomicAdd(answer.finished + at.list, 1) == at.k - 1;
    __syncthreads();
    if (!s.last) return;
    __threadfence();
    select_items(table, request, queries, answer, selection_state(catalog.blocks, at.k, answer.stride), at.list, at.first, at.k);
    restore_blocked(request, queries, answer, at.list);
    if (threadIdx.x == 0) answer.finished[at.list] = 0;
}

// For many lists, the same in two kernels: shortlists need little shared memory and few registers, so that more of them are
// computed at a time.
extern "C" __global__ void __launch_bounds__(THREADS, 4)
decide_candidates(const __grid_constant__ Catalog catalog, const __grid_constant__ ItemTable table, const __grid_constant__ Request request,
          const __grid_constant__ Queries queries, const __grid_constant__ BlockBest block_best, const __grid_constant__ Answer answer) {
    __shared__ Scratch s;
    load_first_blocks(catalog, s);
    wait_for_previous_kernel();
    allow_next_kernel();
    const PlaceOfPosition at = place_of(request, queries, blockIdx.x);
    make_shortlist(catalog, table, request, queries, block_best, answer, s, blockIdx.x, at.list, at.first);
}

extern "C" __global__ void __launch_bounds__(THREADS)
decide_items(const __grid_constant__ Catalog catalog, const __grid_constant__ ItemTable table, const __grid_constant__ Request request,
       const __grid_constant__ Queries queries, const __grid_constant__ Answer answer) {
    clear_taken(catalog.blocks);
    wait_for_previous_kernel();
    const int list = blockIdx.x, first = request.first_positions[list], k = request.first_positions[list + 1] - first;
    select_items(table, request, queries, answer, selection_state(catalog.blocks, k, answer.stride), list, first, k);
    restore_blocked(request, queries, answer, list);
}
