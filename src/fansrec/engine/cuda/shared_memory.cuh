// How blocks of threads divide their dynamic shared memory; sizes.cuh has the sizes.

extern __shared__ __align__(16) unsigned char memory[];  // its size is an argument of the launch

// What a block of `encode` holds of one list. If HALVES is 2, every array of fp16 numbers is followed by one of the same
// size with their second halves.
struct Shared {
    half_t *x, *attended, *operand, *wide, *k, *q, *v;
    float *vectors, *sums, *logits;
    int *tokens;
    int v_row;
    int rows;  // of all tiles

    __device__ int x_size() const { return rows * ROW; }
    __device__ int attended_size() const { return (rows / TILE + CLUSTER - 1) / CLUSTER * TILE * ROW; }
    __device__ int head_size() const { return rows * HEAD; }
    __device__ int v_size() const { return HEAD * v_row; }
};

// Divides `encode_bytes(tiles)` bytes (sizes.cuh).
__device__ Shared divide_memory(int tiles) {
    const int rows = tiles * TILE, slots = own_tiles(tiles);
    Shared s;
    s.v_row = value_stride(tiles), s.rows = rows;
    s.vectors = reinterpret_cast<float *>(memory);
    s.sums = s.vectors + VECTORS;
    s.logits = s.sums + slots * TILE * SUMS;
    s.tokens = reinterpret_cast<int *>(s.logits + TILE * LOGITS);
    s.x = reinterpret_cast<half_t *>(s.tokens + slots * TILE);
    s.attended = s.x + HALVES * s.x_size();
    s.operand = s.attended + HALVES * s.attended_size();
    s.wide = s.operand + HALVES * TILE * ROW;
    s.k = s.wide + HALVES * TILE * WIDE_ROW;
    s.q = s.k + HALVES * s.head_size();
    s.v = s.q + HALVES * s.head_size();
    return s;
}

// What the last block of a list holds in shared memory: `decide_bytes(blocks, k)` bytes (sizes.cuh).
struct SelectionState {
    unsigned *taken;     // a bit per slot, clear at first; all bits of one more word are set
    int no_slot;         // the first slot of that word, which is never free
    int *sums, *chosen, *category;
    int *own_positions;  // (WARPS, k): the positions of the categories that a warp handles
    int *first;          // (k, 32) slots: the first of each shortlist, `no_slot` beyond its end
    int *further;        // the others: p - 31 of them from (p - 32) * (p - 31) / 2 on, for position p; null: not here
};

// `longest` is the longest answer of the request.
__device__ __forceinline__ SelectionState selection_state(int words, int k, int longest) {
    SelectionState state;
    state.taken = reinterpret_cast<unsigned *>(memory), state.no_slot = words * 32;
    state.sums = reinterpret_cast<int *>(state.taken + words + 1);
    state.chosen = state.sums + WARPS, state.category = state.chosen + k, state.own_positions = state.category + k;
    state.first = state.own_positions + WARPS * k, state.further = state.first + FIRST * k;
    if (slots_beyond(longest) > further_slots(words, longest)) state.further = nullptr;
    return state;
}
