// The sizes of the kernels for one model, whose own sizes are macros: WIDTH, HEADS, FEEDFORWARD, LAYERS, CATEGORIES, and
// of the hybrid model (TIED) READ_NEXT, READ_MASKS and READ_CATEGORIES. SASREC is 1 for the layers of SASRec. HALVES is 2 if
// the encoder splits every number into two fp16 numbers, which takes twice the memory, and 1 otherwise. TEAM blocks share a
// list in the other kernels of the hybrid model (hybrid/team.cuh).
//
// sizes.py reads this file, too: every `constexpr int NAME = EXPRESSION;` and every function with one line. Expressions
// hold names, numbers, + - * / ( ), calls, and at most one comparison with `?` and `:`. No value is negative.

constexpr int CLUSTER = 8;           // blocks that share one list in `encode`
constexpr int WARPS = 8;             // of a block
constexpr int THREADS = 32 * WARPS;  // of a block
constexpr int TILE = 16;             // tokens that pass through the tensor cores together
constexpr int BLOCK = 32;            // items that are compared together
constexpr int INLINE = 512;          // items of a short list, which is passed as a kernel argument
constexpr int MAX_BLOCKS = 1024;     // blocks that a shortlist is chosen from
constexpr int MAX_ITEMS = 2048;      // candidates of a shortlist
constexpr int MOST_DEPTH = 1024;     // entries of a shortlist
constexpr int FIRST = 32;            // entries of a shortlist that a warp reads at once

constexpr int HEAD = WIDTH / HEADS;
constexpr int ROW = WIDTH + 8;  // halves from one row to the next in shared memory: no two rows on the same banks
constexpr int WIDE_ROW = FEEDFORWARD + 8;
constexpr int SUMS = WIDTH + 8;                       // floats from one row of `sums` to the next
constexpr int LOGITS = TIED + SASREC > 0 ? 0 : (CATEGORIES + 7) / 8 * 8 + 4;  // floats from one row of `logits` to the next
constexpr int LAYER_VECTORS = (9 - SASREC) * WIDTH + FEEDFORWARD;
constexpr int HEAD_VECTORS = TIED + SASREC > 0 ? 0 : 3 * WIDTH + (CATEGORIES + 7) / 8 * 8;
constexpr int VECTORS = LAYERS * LAYER_VECTORS + HEAD_VECTORS + 2 * WIDTH;  // all biases and norms, in shared memory

// Dynamic shared memory of `encode` for a list of `tiles` tiles (`divide_memory` of request.cuh).
__device__ constexpr int own_tiles(int tiles) { return (tiles + CLUSTER - 1) / CLUSTER; }
__device__ constexpr int value_stride(int tiles) { return (tiles * TILE + 63) / 64 * 64 + 8; }
__device__ constexpr int floats(int tiles) { return VECTORS + own_tiles(tiles) * TILE * (SUMS + 1) + TILE * LOGITS; }
__device__ constexpr int row_halves(int tiles) { return (tiles + own_tiles(tiles) + 1) * TILE * ROW + TILE * WIDE_ROW; }
__device__ constexpr int head_halves(int tiles) { return 2 * tiles * TILE * HEAD + HEAD * value_stride(tiles); }
__device__ constexpr int halves(int tiles) { return HALVES * (row_halves(tiles) + head_halves(tiles)); }
__device__ constexpr int encode_bytes(int tiles) { return 4 * floats(tiles) + 2 * halves(tiles); }

// How long a shortlist is if limits per group may skip some of its entries. If it is too short, torch answers.
__device__ constexpr int more_entries(int depth) { return 4 * depth + 64; }
__device__ constexpr int with_skipped(int depth) { return more_entries(depth) > MOST_DEPTH ? MOST_DEPTH : more_entries(depth); }

// Shared memory of `decide` and `decide_items` for a catalog of `blocks` blocks and k positions (`selection_state` of shared_memory.cuh), and
// what it declares statically (`Scratch` of block_search.cuh). If not all entries of the shortlists fit, only the first
// ones of each are in shared memory.
constexpr int DECIDE_STATIC_BYTES = 26 * 1024;
constexpr int DECIDE_BYTES = 227 * 1024 - DECIDE_STATIC_BYTES;  // at most
__device__ constexpr int first_bytes(int blocks, int k) { return 4 * (blocks + 1 + WARPS + (2 + WARPS + FIRST) * k); }
__device__ constexpr int slots_beyond(int k) { return k > FIRST ? (k - FIRST) * (k - FIRST + 1) / 2 : 0; }
__device__ constexpr int all_bytes(int blocks, int k) { return first_bytes(blocks, k) + 4 * slots_beyond(k); }
__device__ constexpr int further_slots(int blocks, int k) { return all_bytes(blocks, k) > DECIDE_BYTES ? 0 : slots_beyond(k); }
__device__ constexpr int decide_bytes(int blocks, int k) { return first_bytes(blocks, k) + 4 * further_slots(blocks, k); }

// The hybrid model: sizes of a search for the best of many (hybrid/threshold.cuh), and shared memory of `look_up` for an input
// of `length` items and for the sums of all items, of `blend` and of `arrange` for k items (`lookup_memory`, `blend_memory` and `arrange_memory` of
// hybrid/shared_memory.cuh).
constexpr int BINS = 2048;            // of a histogram
constexpr int LEVELS = 9;             // histograms of one search, and one more
constexpr int SCRATCH = 80;           // words for the sums of a block
constexpr int CANDIDATES = 2048;      // items that are sorted; no list gets more
constexpr int BLEND_THREADS = 512;   // at most
constexpr int SLOTS = CLUSTER * (BLEND_THREADS / 32);  // among which the items of a category are divided, for one warp each
constexpr int READ_ROWS = READ_NEXT + READ_MASKS;
constexpr int BLEND_TABLES = CATEGORIES * (READ_ROWS + 3) + READ_CATEGORIES * (2 * READ_ROWS + 2) + 2 * READ_ROWS * WIDTH;
__device__ constexpr int own_items(int items) { return (items + TEAM - 1) / TEAM; }  // of each block
__device__ constexpr int sum_bytes(int items, int parts) { return 8 * parts * own_items(items); }
__device__ constexpr int lookup_bytes(int length) { return 4 * (BINS + SCRATCH) + 24 * (length + 1); }
__device__ constexpr int arrange_bytes(int k) { return 4 * (WARPS * (2 * WIDTH + CATEGORIES) + 3 * k); }
constexpr int BLEND_BYTES = 8 * CANDIDATES + 4 * (BINS + SCRATCH + BLEND_TABLES + 4);
