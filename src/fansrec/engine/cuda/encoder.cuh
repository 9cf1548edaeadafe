// One list, one cluster of eight blocks: its tokens never leave shared memory between the embedding and the last layer.
//
// Every block has the whole list's vectors in fp16 (`x`). In a layer, a block first attends for its own head(s), over
// all tokens, and sends what it finds to the blocks that own those tokens; a block owns every eighth tile of 16 tokens.
// Each then takes its own tiles through the rest of the layer, and sends the new vectors to all. Two cluster barriers a
// layer are all the waiting there is; weights are on their way while it lasts.

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

// The new vectors of one row: kept by the owner in fp32, sent to every block in fp16, or kept in that too.
__device__ __forceinline__ void publish(const Shared &s, const Row &row, int slot, int tile, int r, bool to_all = true) {
    for (int p = 0; p < PAIRS; p++) {
        *reinterpret_cast<float2 *>(s.sums + (slot * TILE + r) * SUMS + column(p)) = row.of[p];
        const unsigned both = pack(row.of[p].x, row.of[p].y);
        half_t *place = s.x + (tile * TILE + r) * ROW + column(p);
        if (!to_all) *reinterpret_cast<unsigned *>(place) = both;
        else
            for (int rank = 0; rank < CLUSTER; rank++) store_in(rank, place, both);
    }
}

// The token at every place of the block's own tiles; items given are marked as such.
__device__ void read_tokens(const Weights &w, const Question &question, const Asked &asked, const Shared &s, const List &list,
                            int rank) {
    for (int i = threadIdx.x; i < (list.tiles + CLUSTER - 1) / CLUSTER * TILE; i += THREADS) {
        const int token = (i / TILE * CLUSTER + rank) * TILE + i % TILE, place = token - (IN_PARTS ? 1 : 0);
        const bool given = place >= 0 && place < list.length;
        int id = w.item_count + 1;  // MASK
        if (given) id = list.ids[place];
        else if (IN_PARTS && token == 0) id = w.item_count + 2;  // CLS
        else if (IN_PARTS && (token == list.length + 1 || token == list.tokens - 1)) id = w.item_count + 3;  // SEP
        s.ids[i] = token < list.tokens ? id : -1;
        if (given && question.mark_seen) {
            const int at = w.place_of[id];
            asked.seen[list.offset + place] = at / 32;
            atomicOr(question.blocked + static_cast<size_t>(list.number) * question.words + at / 32, 1u << (at & 31));
        }
    }
}

__device__ Row embedded(const Weights &w, const List &list, int id, int token) {
    Row row = {};
    if (id < 0) return row;
    const int place = min(token, w.trained_positions - 1), segment = IN_PARTS && token > list.length + 1;
    const int category = EMBED_CATEGORIES && id < w.item_count ? w.category_of[id] : CATEGORIES;
    for (int p = 0; p < PAIRS; p++) {
        const float2 a = two(w.items + static_cast<size_t>(id) * WIDTH + column(p));
        const float2 b = two(w.positions + place * WIDTH + column(p)), c = two(w.segments + segment * WIDTH + column(p));
        float2 d = make_float2(0, 0);
        if (EMBED_CATEGORIES) d = two(w.categories + category * WIDTH + column(p));
        row.of[p] = make_float2(a.x + b.x + c.x + d.x, a.y + b.y + c.y + d.y);
    }
    return row;
}

__device__ void embed(const Weights &w, const Shared &s, const List &list, int rank) {
    const float *norm = s.vectors + LAYERS * LAYER_VECTORS + HEAD_VECTORS;
    bool waited = false;
    for (int slot = 0, tile = rank; tile < list.tiles; slot++, tile += CLUSTER) {
        Row rows[MINE];
        for (int i = 0; i < MINE; i++) {
            const int r = warp_id() + i * WARPS;
            rows[i] = embedded(w, list, s.ids[slot * TILE + r], tile * TILE + r);
        }
        normalise(rows, norm, norm + WIDTH);
        if (!waited) cluster_wait(), waited = true;  // nobody writes to a block that is not there, or still at another list
        for (int i = 0; i < MINE; i++) publish(s, rows[i], slot, tile, warp_id() + i * WARPS);
    }
    if (!waited) cluster_wait();
}

using Projection = uint4[3 * HEAD_TILES][STEPS];

__device__ __forceinline__ int head_of(int rank, int h) { return HEADS >= CLUSTER ? rank + h * CLUSTER : rank % HEADS; }

__device__ __forceinline__ void load_projection(Projection &w, const uint4 *qkv, int head) {
    for (int i = 0; i < 3 * HEAD_TILES; i++) {
        const int tile = i / HEAD_TILES * (WIDTH / 8) + head * HEAD_TILES + i % HEAD_TILES;
        for (int j = 0; j < STEPS; j++) w[i][j] = __ldg(qkv + (tile * STEPS + j) * 32 + lane_id());
    }
}

// Queries, keys and values of one head for all tokens of the list.
__device__ void project(const Shared &s, const Projection &w, const float *bias, int head, int tiles) {
    const int g = lane_id() / 4, t = lane_id() % 4;
    const float scale = 1.4426950408889634f * rsqrtf(static_cast<float>(HEAD));  // powers of two are taken below
    for (int tile = warp_id(); tile < tiles; tile += WARPS) {
        float c[3 * HEAD_TILES][4] = {};
        multiply<3 * HEAD_TILES, STEPS>(c, s.x + tile * TILE * ROW, ROW, w);
        for (int i = 0; i < 3 * HEAD_TILES; i++) {
            const int at = i % HEAD_TILES * 8 + 2 * t, row = tile * TILE + g;
            const float2 b = two(bias + i / HEAD_TILES * WIDTH + head * HEAD + at);
            const float c0 = c[i][0] + b.x, c1 = c[i][1] + b.y, c2 = c[i][2] + b.x, c3 = c[i][3] + b.y;
            if (i < HEAD_TILES) {
                *reinterpret_cast<unsigned *>(s.q + row * HEAD + at) = pack(c0 * scale, c1 * scale);
                *reinterpret_cast<unsigned *>(s.q + (row + 8) * HEAD + at) = pack(c2 * scale, c3 * scale);
            } else if (i < 2 * HEAD_TILES) {
                *reinterpret_cast<unsigned *>(s.k + row * HEAD + at) = pack(c0, c1);
                *reinterpret_cast<unsigned *>(s.k + (row + 8) * HEAD + at) = pack(c2, c3);
            } else {  // values lie column by column: two neighbouring keys are one operand
                const unsigned upper = pack(c0, c1), lower = pack(c2, c3);
                s.v[at * s.v_row + row] = upper, s.v[(at + 1) * s.v_row + row] = upper >> 16;
                s.v[at * s.v_row + row + 8] = lower, s.v[(at + 1) * s.v_row + row + 8] = lower >> 16;
            }
        }
    }
}

__device__ __forceinline__ unsigned word(const half_t *from) { return *reinterpret_cast<const unsigned *>(from); }

// How much the 16 queries of a tile like 8 keys from `key` on; no key beyond the list is liked at all.
__device__ __forceinline__ void likings(float (&c)[4], const Shared &s, const unsigned (&q)[HEAD / 8][2], int key, int tokens) {
    const int g = lane_id() / 4, t = lane_id() % 4;
    const half_t *keys = s.k + (key + g) * HEAD + 2 * t;
    c[0] = c[1] = c[2] = c[3] = 0;
#pragma unroll
    for (int i = 0; i < HEAD / 8; i++) short_product(c, q[i][0], q[i][1], word(keys + 8 * i));
    if (key + 8 > tokens) {
        if (key + 2 * t >= tokens) c[0] = c[2] = MINUS_INF;
        if (key + 2 * t + 1 >= tokens) c[1] = c[3] = MINUS_INF;
    }
}

constexpr int AT_ONCE = 16;  // tiles of 8 keys whose likings are held in registers

// One tile of queries over all keys, 128 at a time with a running maximum. The result goes to the tile's owner.
__device__ void attend(const Shared &s, int head, int tile, int tokens) {
    const int g = lane_id() / 4, t = lane_id() % 4;
    unsigned q[HEAD / 8][2];
    for (int i = 0; i < HEAD / 8; i++) {
        q[i][0] = word(s.q + (tile * TILE + g) * HEAD + 8 * i + 2 * t);
        q[i][1] = word(s.q + (tile * TILE + g + 8) * HEAD + 8 * i + 2 * t);
    }
    float upper = MINUS_INF, lower = MINUS_INF, upper_sum = 0, lower_sum = 0, out[HEAD_TILES][4] = {}, other[HEAD_TILES][4] = {};
    for (int first = 0; first < tokens; first += 8 * AT_ONCE) {
        float c[AT_ONCE][4], high = upper, low = lower;
#pragma unroll
        for (int n = 0; n < AT_ONCE; n++) {
            if (first + 8 * n < tokens) likings(c[n], s, q, first + 8 * n, tokens);
            else c[n][0] = c[n][1] = c[n][2] = c[n][3] = MINUS_INF;
            high = fmaxf(high, fmaxf(c[n][0], c[n][1])), low = fmaxf(low, fmaxf(c[n][2], c[n][3]));
        }
        high = quad_max(high), low = quad_max(low);
        const float keep = power_of_two(upper - high), keep_lower = power_of_two(lower - low);
        upper = high, lower = low, upper_sum *= keep, lower_sum *= keep_lower;
        for (int i = 0; i < HEAD_TILES; i++)
            for (int e = 0; e < 4; e++) out[i][e] *= e < 2 ? keep : keep_lower, other[i][e] *= e < 2 ? keep : keep_lower;
#pragma unroll
        for (int n = 0; n < AT_ONCE; n += 2) {
            if (first + 8 * n >= tokens) continue;
#pragma unroll
            for (int m = n; m < n + 2; m++)
                for (int i = 0; i < 2; i++) {
                    c[m][i] = power_of_two(c[m][i] - upper), c[m][i + 2] = power_of_two(c[m][i + 2] - lower);
                    upper_sum += c[m][i], lower_sum += c[m][i + 2];
                }
            const unsigned p[4] = {pack(c[n][0], c[n][1]), pack(c[n][2], c[n][3]), pack(c[n + 1][0], c[n + 1][1]), pack(c[n + 1][2], c[n + 1][3])};
            for (int i = 0; i < HEAD_TILES; i++) {
                const half_t *values = s.v + (8 * i + g) * s.v_row + first + 8 * n + 2 * t;
                product(n % 4 ? other[i] : out[i], p, word(values), word(values + 8));  // sums of two halves, side by side
            }
        }
    }
    const float up = 1 / quad_sum(upper_sum), down = 1 / quad_sum(lower_sum);
    half_t *place = s.attended + (tile / CLUSTER * TILE + g) * ROW + head * HEAD + 2 * t;
    for (int i = 0; i < HEAD_TILES; i++) {
        for (int e = 0; e < 4; e++) out[i][e] += other[i][e];
        store_in(tile % CLUSTER, place + 8 * i, pack(out[i][0] * up, out[i][1] * up));
        store_in(tile % CLUSTER, place + 8 * ROW + 8 * i, pack(out[i][2] * down, out[i][3] * down));
    }
}

// Add a tile's products and bias to the owner's fp32 rows; every element belongs to one lane.
template <int TILES>
__device__ __forceinline__ void add_to(float *sums, const float (&c)[TILES][4], const float *bias, int first, bool fresh) {
    const int g = lane_id() / 4, t = lane_id() % 4;
    for (int i = 0; i < TILES; i++) {
        const int at = (first + i) * 8 + 2 * t;
        const float2 b = two(bias + at);
        float2 *upper = reinterpret_cast<float2 *>(sums + g * SUMS + at), *lower = reinterpret_cast<float2 *>(sums + (g + 8) * SUMS + at);
        const float2 u = fresh ? make_float2(0, 0) : *upper, l = fresh ? make_float2(0, 0) : *lower;
        *upper = make_float2(u.x + c[i][0] + b.x, u.y + c[i][1] + b.y);
        *lower = make_float2(l.x + c[i][2] + b.x, l.y + c[i][3] + b.y);
    }
}

__device__ __forceinline__ Row row_of(const float *sums, int r) {
    Row row;
    for (int p = 0; p < PAIRS; p++) row.of[p] = *reinterpret_cast<const float2 *>(sums + r * SUMS + column(p));
    return row;
}

__device__ __forceinline__ void as_operand(half_t *rows, const Row &row, int r) {
    for (int p = 0; p < PAIRS; p++)
        *reinterpret_cast<unsigned *>(rows + r * ROW + column(p)) = pack(row.of[p].x, row.of[p].y);
}

// The second half of a layer for the block's own tiles from `first_tile` on.
__device__ void feed_forward(const Shared &s, const uint4 (&out)[OUT_TILES][STEPS], const uint4 (&widen)[WIDE_TILES][STEPS],
                             const uint4 (&narrow)[OUT_TILES][WIDE_STEPS], const float *vectors, int rank, int first_tile, int tiles, bool last) {
    const int warp = warp_id(), g = lane_id() / 4, t = lane_id() % 4;
    const float *out_bias = vectors + 3 * WIDTH, *norm = out_bias + WIDTH, *wide_bias = norm + 2 * WIDTH;
    const float *narrow_bias = wide_bias + FEEDFORWARD, *last_norm = narrow_bias + WIDTH;
    for (int slot = 0, tile = rank; tile < tiles; slot++, tile += CLUSTER) {
        if (tile < first_tile) continue;
        float *sums = s.sums + slot * TILE * SUMS;
        float c[OUT_TILES][4] = {};
        multiply<OUT_TILES, STEPS>(c, s.attended + slot * TILE * ROW, ROW, out);
        add_to<OUT_TILES>(sums, c, out_bias, warp * OUT_TILES, false);
        __syncthreads();
        Row rows[MINE];
        for (int i = 0; i < MINE; i++) rows[i] = row_of(sums, warp + i * WARPS);
        normalise(rows, norm, norm + WIDTH);
        for (int i = 0; i < MINE; i++) {
            const int r = warp + i * WARPS;
            for (int p = 0; p < PAIRS; p++) *reinterpret_cast<float2 *>(sums + r * SUMS + column(p)) = rows[i].of[p];
            as_operand(s.operand, rows[i], r);
        }
        __syncthreads();
        float wide[WIDE_TILES][4] = {};
        multiply<WIDE_TILES, STEPS>(wide, s.operand, ROW, widen);
        for (int i = 0; i < WIDE_TILES; i++) {
            const int at = (warp * WIDE_TILES + i) * 8 + 2 * t;
            const float2 b = two(wide_bias + at);
            *reinterpret_cast<unsigned *>(s.wide + g * WIDE_ROW + at) = pack(gelu(wide[i][0] + b.x), gelu(wide[i][1] + b.y));
            *reinterpret_cast<unsigned *>(s.wide + (g + 8) * WIDE_ROW + at) = pack(gelu(wide[i][2] + b.x), gelu(wide[i][3] + b.y));
        }
        __syncthreads();
        float back[OUT_TILES][4] = {};
        multiply<OUT_TILES, WIDE_STEPS>(back, s.wide, WIDE_ROW, narrow);
        add_to<OUT_TILES>(sums, back, narrow_bias, warp * OUT_TILES, false);
        __syncthreads();
        for (int i = 0; i < MINE; i++) rows[i] = row_of(sums, warp + i * WARPS);
        normalise(rows, last_norm, last_norm + WIDTH);
        for (int i = 0; i < MINE; i++) publish(s, rows[i], slot, tile, warp + i * WARPS, !last);
    }
}

// EARLY: the second half's weights are fetched before the first begins, which takes registers that two blocks on one
// multiprocessor do not have.
template <bool EARLY>
__device__ __forceinline__ void run_layers(const Weights &w, const Shared &s, const List &list, int rank, Projection &projection) {
    uint4 out[OUT_TILES][STEPS], widen[WIDE_TILES][STEPS], narrow[OUT_TILES][WIDE_STEPS];
    const auto fetch = [&](const uint4 *matrices) {
        load_weights<OUT_TILES, STEPS>(out, matrices, warp_id() * OUT_TILES);
        load_weights<WIDE_TILES, STEPS>(widen, matrices + OUT_SIZE, warp_id() * WIDE_TILES);
        load_weights<OUT_TILES, WIDE_STEPS>(narrow, matrices + OUT_SIZE + WIDEN_SIZE, warp_id() * OUT_TILES);
    };
    for (int layer = 0; layer < LAYERS; layer++) {
        const uint4 *qkv = w.matrices + static_cast<size_t>(layer) * LAYER_MATRICES;
        const float *vectors = s.vectors + layer * LAYER_VECTORS;
        const int first_tile = layer == LAYERS - 1 ? list.first_mask / TILE : 0;  // only masks leave the last layer
        if (EARLY) fetch(qkv + QKV_SIZE);
        for (int h = 0; h < HEADS_HERE; h++) {
            const int head = head_of(rank, h);
            if (h > 0) __syncthreads(), load_projection(projection, qkv, head);
            project(s, projection, vectors, head, list.tiles);
            __syncthreads();
            for (int tile = first_tile + rank / HEADS % SHARERS + warp_id() * SHARERS; tile < list.tiles; tile += WARPS * SHARERS)
                attend(s, head, tile, list.tokens);
        }
        cluster_arrive();
        if (!EARLY) fetch(qkv + QKV_SIZE);
        cluster_wait();
        const bool last = layer == LAYERS - 1;
        feed_forward(s, out, widen, narrow, vectors, rank, first_tile, list.tiles, last);
        if (!last) cluster_arrive();
        load_projection(projection, last ? w.matrices : qkv + LAYER_MATRICES, head_of(rank, 0));
        if (!last) cluster_wait();
        else __syncthreads();
    }
}
