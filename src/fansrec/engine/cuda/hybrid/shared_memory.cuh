// How the kernels of the hybrid model divide their dynamic shared memory; ../sizes.cuh has the sizes.

struct LookupShared {
    long long *votes, *linear;  // (own_items), or of all items in global memory
    double *weight;             // of every input item; the arrays below are as long
    long long *from;            // of its lists in ListMemory::lists
    unsigned *bins;
    int *scratch;
    int *count;  // of its lists
    int *items;  // -1 for an index without an item
};

__device__ __forceinline__ LookupShared lookup_memory(int length, const LookupScratch &scratch, int items, bool has_linear) {
    LookupShared s;
    s.votes = scratch.votes, s.linear = scratch.linear;
    s.weight = reinterpret_cast<double *>(memory);
    if (!scratch.votes) {
        s.votes = reinterpret_cast<long long *>(memory), s.linear = s.votes + own_items(items);
        s.weight = reinterpret_cast<double *>(has_linear ? s.linear + own_items(items) : s.linear);
    }
    s.from = reinterpret_cast<long long *>(s.weight + length);
    s.bins = reinterpret_cast<unsigned *>(s.from + length);
    s.scratch = reinterpret_cast<int *>(s.bins + BINS);
    s.count = s.scratch + SCRATCH;
    s.items = s.count + length;
    return s;
}

struct BlendShared {
    word64 *candidates;  // (CANDIDATES)
    float *rows;         // (READ_ROWS, WIDTH)
    float *transformed;  // (READ_ROWS, WIDTH)
    unsigned *bins;
    int *scratch;
    float *by_position;  // (READ_ROWS, CATEGORIES): probability of a category times the share of the row
    float *by_list;      // (CATEGORIES)
    float *bounds;       // (CATEGORIES): what the network can add to the score of an item
    int *read_rank;      // (CATEGORIES): index of a category among those that are read, or -1
    int *read;           // (READ_CATEGORIES): the categories that are read
    int *first_logit;    // (READ_CATEGORIES): index of the first item of each
    float *weights;      // (READ_CATEGORIES, READ_ROWS)
    float *log_sums;     // (READ_CATEGORIES, READ_ROWS)
};

__device__ __forceinline__ BlendShared blend_memory() {
    BlendShared s;
    s.candidates = reinterpret_cast<word64 *>(memory);
    s.rows = reinterpret_cast<float *>(s.candidates + CANDIDATES);
    s.transformed = s.rows + READ_ROWS * WIDTH;
    s.bins = reinterpret_cast<unsigned *>(s.transformed + READ_ROWS * WIDTH);
    s.scratch = reinterpret_cast<int *>(s.bins + BINS);
    s.by_position = reinterpret_cast<float *>(s.scratch + SCRATCH);
    s.by_list = s.by_position + READ_ROWS * CATEGORIES;
    s.bounds = s.by_list + CATEGORIES;
    s.read_rank = reinterpret_cast<int *>(s.bounds + CATEGORIES);
    s.read = s.read_rank + CATEGORIES;
    s.first_logit = s.read + READ_CATEGORIES;
    s.weights = reinterpret_cast<float *>(s.first_logit + READ_CATEGORIES);
    s.log_sums = s.weights + READ_CATEGORIES * READ_ROWS;
    return s;
}

struct ArrangeShared {
    float *row, *transformed;  // (WIDTH), of one warp
    float *categories;         // (CATEGORIES), of one warp
    int *items;                // (k)
    float *scores, *expected;  // (k)
};

__device__ __forceinline__ ArrangeShared arrange_memory(int k) {
    ArrangeShared s;
    float *first = reinterpret_cast<float *>(memory);
    s.row = first + warp_id() * WIDTH;
    s.transformed = first + (WARPS + warp_id()) * WIDTH;
    s.categories = first + 2 * WARPS * WIDTH + warp_id() * CATEGORIES;
    s.items = reinterpret_cast<int *>(first + WARPS * (2 * WIDTH + CATEGORIES));
    s.scores = reinterpret_cast<float *>(s.items + k);
    s.expected = s.scores + k;
    return s;
}
