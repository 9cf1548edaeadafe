// From shortlists to a list of distinct items. One block of threads makes the shortlist of one position; the last to
// finish for a list walks through all of them.

// What the last block of threads of a list holds in shared memory.
struct Walk {
    unsigned *taken;  // a bit for every place, clear at the beginning; one word more, all set, for no place at all
    int nowhere;      // a place in it
    int *sums, *chosen, *category;
    int *mine;        // (WARPS, k): the positions of the categories that a warp looks after
    int *first;       // (k, 32) places: the first of each shortlist, `nowhere` beyond its end
    int *further;     // the others: p - 31 of them from (p - 32) * (p - 31) / 2 on, for position p
};

__device__ __forceinline__ Walk lay_out(int words, int k) {
    Walk walk;
    walk.taken = reinterpret_cast<unsigned *>(memory), walk.nowhere = words * 32;
    walk.sums = reinterpret_cast<int *>(walk.taken + words + 1);
    walk.chosen = walk.sums + WARPS, walk.category = walk.chosen + k, walk.mine = walk.category + k;
    walk.first = walk.mine + WARPS * k, walk.further = walk.first + 32 * k;
    return walk;
}

// Beyond the first 32 of a shortlist: where the first free place stands in it, or -1.
__device__ __forceinline__ int look_further(const Walk &walk, int p, int &place) {
    for (int at = 32; at <= p; at += 32) {
        place = at + lane_id() <= p ? walk.further[(p - 32) * (p - 31) / 2 + at - 32 + lane_id()] : walk.nowhere;
        const unsigned who = __ballot_sync(~0u, !(walk.taken[place >> 5] >> (place & 31) & 1));
        if (who) return at + __ffs(who) - 1;
    }
    return -1;
}

// The positions of every eighth category, in order; gives their number.
__device__ __forceinline__ int gather_mine(const Walk &walk, int *mine, int k) {
    int count = 0;
    for (int at = 0; at < k; at += 32) {
        const int p = at + lane_id();
        const unsigned who = __ballot_sync(~0u, p < k && walk.category[p] % WARPS == warp_id());
        if (who >> lane_id() & 1) mine[count + __popc(who & (1u << lane_id()) - 1)] = p;
        count += __popc(who);
    }
    __syncwarp();
    return count;
}

// The first of each position's shortlist that no earlier position has taken. Categories share no items, so each warp
// walks through its own. Places are fetched two positions ahead, and looked up one ahead; what is taken in between is
// compared.
__device__ __forceinline__ void take(const Walk &walk, int k) {
    const int lane = lane_id();
    int *mine = walk.mine + warp_id() * k;
    const int count = gather_mine(walk, mine, k);
    if (count == 0) return;
    int place = walk.first[mine[0] * 32 + lane], next = walk.first[mine[min(1, count - 1)] * 32 + lane], last = -1;
    unsigned word = walk.taken[place >> 5];
    for (int n = 0; n < count; n++) {
        const int p = mine[n], after_next = walk.first[mine[min(n + 2, count - 1)] * 32 + lane];
        const unsigned next_word = walk.taken[next >> 5];
        const unsigned who = __ballot_sync(~0u, !(word >> (place & 31) & 1) && place != last);
        int found = __ffs(who) - 1;
        if (!who) found = look_further(walk, p, place);
        last = found < 0 ? -1 : __shfl_sync(~0u, place, found & 31);
        if (lane == (found & 31) && found >= 0) atomicOr(walk.taken + (place >> 5), 1u << (place & 31));
        if (lane == 0) walk.chosen[p] = found;
        __syncwarp();
        place = next, word = next_word, next = after_next;
    }
}

// All shortlists of a list, as `Walk` has them: 32 places of one at a time for each warp, many on their way at once.
__device__ __forceinline__ void fetch_shortlists(const Answer &answer, const Walk &walk, int first, int k) {
    constexpr int MANY = 8;
    for (int from = 0, rows = k, at = 0, base = 0; rows > 0;) {
        int place[MANY], p[MANY], i[MANY];
        bool known[MANY];
#pragma unroll
        for (int n = 0; n < MANY; n++) {  // first the beginnings of all shortlists, then what follows in the deeper ones
            int row = from + n * WARPS + warp_id() - base, depth = at, left = rows;
            while (left > 0 && row >= left) row -= left, depth += 32, left = k - depth;
            p[n] = left > 0 ? depth + row : -1, i[n] = depth + lane_id();
            const bool there = p[n] >= 0 && i[n] <= p[n];
            known[n] = there && i[n] < __ldcg(answer.lengths + first + max(p[n], 0));
            place[n] = there ? __ldcg(&answer.shortlists[static_cast<size_t>(first + p[n]) * answer.row + i[n]].x) : 0;
        }
#pragma unroll
        for (int n = 0; n < MANY; n++) {
            const int it = known[n] ? place[n] : walk.nowhere;
            if (p[n] >= 0 && i[n] < 32) walk.first[p[n] * 32 + i[n]] = it;
            else if (p[n] >= 0 && i[n] <= p[n]) walk.further[(p[n] - 32) * (p[n] - 31) / 2 + i[n] - 32] = it;
        }
        from += MANY * WARPS;
        while (rows > 0 && from - base >= rows) base += rows, at += 32, rows = k - at;
    }
}

__device__ __forceinline__ void choose(const Table &table, const Question &question, const Asked &asked, const Answer &answer,
                                       const Walk &walk, int list, int first, int k) {
    const int category = threadIdx.x < k ? asked.category[first + threadIdx.x] : 0;  // no answer has more positions
    fetch_shortlists(answer, walk, first, k);
    if (threadIdx.x < k) walk.category[threadIdx.x] = category;
    if (threadIdx.x == 0) walk.taken[walk.nowhere / 32] = ~0u;
    __syncthreads();
    take(walk, k);
    __syncthreads();
    int holes = 0;
    for (int p = threadIdx.x; p < k; p += THREADS) {
        int item = -1, place = 0;
        float score = 0;
        if (walk.chosen[p] >= 0) {
            const int2 taking = __ldcg(answer.shortlists + static_cast<size_t>(first + p) * answer.row + walk.chosen[p]);
            score = __int_as_float(taking.y), place = taking.x;
            if (score >= answer.least_score) item = table.item_at[place];
        }
        answer.items[first + p] = item, answer.scores[first + p] = score;
        holes += item < 0;
        if (answer.grown) {
            *answer.grown = item;
            if (item >= 0) atomicOr(question.blocked + place / 32, 1u << (place & 31));
        }
    }
    if (question.lists == 1) __threadfence_system();  // the host may look as soon as it sees the number of holes
    holes = block_sum(holes, walk.sums);
    if (threadIdx.x == 0) answer.holes[list] = holes;
}

// The list's own items are no longer blocked; the next call finds what this one found.
__device__ void forget(const Question &question, const Asked &asked, const Answer &answer, int list) {
    if (!question.mark_seen || answer.grown) return;
    const int from = question.lists == 1 ? 0 : question.offsets[list];
    const int length = question.lists == 1 ? question.length : question.offsets[list + 1] - from;
    for (int i = threadIdx.x; i < length; i += THREADS) {
        const int block = asked.seen[from + i];
        question.blocked[static_cast<size_t>(list) * question.words + block] = answer.base[block];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
decide(const __grid_constant__ Catalogue catalogue, const __grid_constant__ Table table, const __grid_constant__ Question question,
       const __grid_constant__ Asked asked, const __grid_constant__ Found found, const __grid_constant__ Answer answer) {
    __shared__ Scratch s;
    for (int i = threadIdx.x; i < catalogue.blocks; i += THREADS) reinterpret_cast<unsigned *>(memory)[i] = 0;
    for (int i = threadIdx.x; i <= (TWO_STAGE ? CATEGORIES : 1); i += THREADS) s.first_block[i] = __ldg(catalogue.first_block + i);
    __syncthreads();
    wait_for_last();
    let_next_start();  // of the next step, when items are given one by one
    const int position = blockIdx.x, list = question.lists == 1 ? 0 : asked.list[position];
    const int first = question.lists == 1 ? 0 : question.first[list];
    const int k = question.lists == 1 ? question.k : question.first[list + 1] - first;
    make_shortlist(catalogue, table, question, asked, found, answer, s, position, list, first);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) s.last = atomicAdd(answer.done + list, 1) == k - 1;
    __syncthreads();
    if (!s.last) return;
    __threadfence();
    choose(table, question, asked, answer, lay_out(catalogue.blocks, k), list, first, k);
    forget(question, asked, answer, list);
    if (threadIdx.x == 0) answer.done[list] = 0;
}
