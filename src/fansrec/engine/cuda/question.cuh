// What a call asks, what a model has, and how a block of threads divides its shared memory for one list.

constexpr int STEPS = WIDTH / 32, WIDE_STEPS = FEEDFORWARD / 32;
constexpr int OUT_TILES = WIDTH / 8 / WARPS, WIDE_TILES = FEEDFORWARD / 8 / WARPS;  // of 8 columns, for each warp
constexpr int HEAD_TILES = HEAD / 8;
constexpr int QKV_SIZE = 3 * WIDTH / 8 * STEPS * 32, OUT_SIZE = WIDTH / 8 * STEPS * 32;  // in uint4
constexpr int WIDEN_SIZE = FEEDFORWARD / 8 * STEPS * 32, NARROW_SIZE = WIDTH / 8 * WIDE_STEPS * 32;
constexpr int LAYER_MATRICES = QKV_SIZE + OUT_SIZE + WIDEN_SIZE + NARROW_SIZE;
constexpr int LAYER_VECTORS = 9 * WIDTH + FEEDFORWARD;
constexpr int HEADS_HERE = HEADS > CLUSTER ? HEADS / CLUSTER : 1;   // heads of a block
constexpr int SHARERS = HEADS < CLUSTER ? CLUSTER / HEADS : 1;      // blocks of a head
constexpr int HEAD_VECTORS = 3 * WIDTH + (CATEGORIES + 7) / 8 * 8;
constexpr int VECTORS = LAYERS * LAYER_VECTORS + HEAD_VECTORS + 2 * WIDTH;  // all biases and norms, in shared memory
constexpr int SUMS = WIDTH + 8;                                     // floats from one row of `sums` to the next
constexpr int LOGITS = (CATEGORIES + 7) / 8 * 8 + 4;                // the same of `logits`

struct Weights {
    const float *items, *categories, *positions, *segments;  // embeddings
    const uint4 *matrices;                                   // of all layers: qkv, out, widen, narrow
    const float *vectors;  // of all layers: biases of qkv and out, norm, biases of widen and narrow, norm; then
                           // bias and norm of the head's transform, biases of the categories; the embedding's norm
    const uint4 *head_matrices;                              // transform, categories
    const unsigned *local_matrices;                          // (N, inputs, outputs), two outputs a word
    const float *local_vectors;                              // (N, 3, WIDTH): bias, norm
    const int *category_of;                                  // of every item
    const int *place_of;                                     // of every item among the blocks of 32 (see products.cuh)
    int item_count, trained_positions;
};

struct Question {
    const int *ids;        // flat, list after list; null: one list, in Given
    const int *offsets;    // of the lists in it
    const int *first;      // position of each list among all asked for
    int lists, length, k;  // one list: its length and k, the arrays above are not read
    int tiles;             // of the longest list
    unsigned *blocked;     // (lists, words) bits of items not to be answered, or null
    int words;
    int mark_seen;
};

constexpr int INLINE = 512;
struct Given {             // one short list travels with the launch itself
    int ids[INLINE];
};

struct Asked {             // what the encoder says of every position
    half_t *query16;
    float *query32;
    int *category, *list;
    float *category_score;
    int *counts, *buckets;  // positions of each category
    int *seen;              // the block of every item given
    int positions;
};

struct Shared {
    half_t *x, *attended, *operand, *wide, *k, *q, *v;
    float *vectors, *sums, *logits;
    int *ids;
    int v_row;
};

__device__ Shared divide(int tiles) {
    const int rows = tiles * TILE, slots = (tiles + CLUSTER - 1) / CLUSTER;
    Shared s;
    s.v_row = (rows + 63) / 64 * 64 + 8;
    s.vectors = reinterpret_cast<float *>(memory);
    s.sums = s.vectors + VECTORS;
    s.logits = s.sums + slots * TILE * SUMS;
    s.ids = reinterpret_cast<int *>(s.logits + TILE * LOGITS);
    s.x = reinterpret_cast<half_t *>(s.ids + slots * TILE);
    s.attended = s.x + rows * ROW;
    s.operand = s.attended + slots * TILE * ROW;
    s.wide = s.operand + TILE * ROW;
    s.k = s.wide + TILE * WIDE_ROW;
    s.q = s.k + rows * HEAD;
    s.v = s.q + rows * HEAD;
    return s;
}

struct List {  // of the one at work
    int number, offset, length, k, tokens, tiles, first_mask, first_position;
    const int *ids;
};

__device__ List list_at(const Question &question, const Given &given, int number) {
    List list;
    list.number = number;
    if (question.lists == 1) {
        list.length = question.length, list.k = question.k, list.first_position = list.offset = 0;
        list.ids = question.ids ? question.ids : given.ids;
    } else {
        list.offset = question.offsets[number];
        list.length = question.offsets[number + 1] - list.offset, list.ids = question.ids + list.offset;
        list.first_position = question.first[number];
        list.k = question.first[number + 1] - list.first_position;
    }
    list.tokens = list.length + list.k + (IN_PARTS ? 3 : 0);
    list.first_mask = list.length + (IN_PARTS ? 2 : 0);
    list.tiles = (list.tokens + TILE - 1) / TILE;
    return list;
}
