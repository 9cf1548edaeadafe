// The attention of a head over one list: queries, keys and values of all tokens, then tile by tile of queries.

using Projection = Matrix<3 * HEAD_TILES, STEPS, HEAD_TILES, WIDTH / 8>;  // to queries, keys and values of one head

__device__ __forceinline__ int head_of(int rank, int h) { return HEADS >= CLUSTER ? rank + h * CLUSTER : rank % HEADS; }

// Computes queries, keys and values of one head for all tokens of the list.
__device__ void project(const Shared &s, const Projection &w, const float *bias, int head, int tiles) {
    const int g = lane_id() / 4, t = lane_id() % 4;
    const float scale = 1.4426950408889634f * rsqrtf(static_cast<float>(HEAD));  // base-2 exponentials follow
    for (int tile = warp_id(); tile < tiles; tile += WARPS) {
        float c[3 * HEAD_TILES][4] = {};
        multiply(c, s.x + tile * TILE * ROW, ROW, s.x_size(), w);
#pragma unroll
        for (int i = 0; i < 3 * HEAD_TILES; i++) {
            const int at = i % HEAD_TILES * 8 + 2 * t, row = tile * TILE + g;
            const float2 b = two(bias + i / HEAD_TILES * WIDTH + head * HEAD + at);
            const float c0 = c[i][0] + b.x, c1 = c[i][1] + b.y, c2 = c[i][2] + b.x, c3 = c[i][3] + b.y;
            if (i < HEAD_TILES) {
                store_split(s.q + row * HEAD + at, s.head_size(), c0 * scale, c1 * scale);
                store_split(s.q + (row + 8) * HEAD + at, s.head_size(), c2 * scale, c3 * scale);
            } else if (i < 2 * HEAD_TILES) {
                store_split(s.k + row * HEAD + at, s.head_size(), c0, c1);
                store_split(s.k + (row + 8) * HEAD + at, s.head_size(), c2, c3);
            } else {  // values are stored by columns: two adjacent keys are one operand
                const Split upper = split(c0, c1), lower = split(c2, c3);
                half_t *v = s.v + at * s.v_row + row;
                v[0] = upper.high, v[s.v_row] = upper.high >> 16, v[8] = lower.high, v[s.v_row + 8] = lower.high >> 16;
                if (HALVES == 2) {
                    v += s.v_size();
                    v[0] = upper.low, v[s.v_row] = upper.low >> 16, v[8] = lower.low, v[s.v_row + 8] = lower.low >> 16;
                }
            }
        }
    }
}

__device__ __forceinline__ unsigned word(const half_t *from) { return *reinterpret_cast<const unsigned *>(from); }

// The tokens that a tile of queries sees: of the row that a lane holds, of the row eight further on, and of any row.
struct Seen {
    int upper, lower, any;
};

// If CAUSAL, a token before the masks sees those up to itself only.
__device__ __forceinline__ Seen seen_tokens(const List &list, int tile) {
    if (!CAUSAL) return {list.tokens, list.tokens, list.tokens};
    const auto seen = [&](int token) { return token < list.first_mask ? token + 1 : list.tokens; };
    const int first = tile * TILE, row = first + lane_id() / 4;
    return {seen(row), seen(row + 8), seen(first + TILE - 1)};
}

using Query = unsigned[HALVES][HEAD / 8][2];  // of 16 tokens

// Computes the scores of the 16 queries of a tile for 8 keys from `key` on; keys that a query does not see get MINUS_INF.
__device__ __forceinline__ void attention_scores(float (&c)[4], const Shared &s, const Query &q, int key, const Seen &seen) {
    const int g = lane_id() / 4, t = lane_id() % 4;
    const half_t *keys = s.k + (key + g) * HEAD + 2 * t;
    c[0] = c[1] = c[2] = c[3] = 0;
#pragma unroll
    for (int i = 0; i < HEAD / 8; i++) {
        const unsigned high = word(keys + 8 * i);
        if (HALVES == 2) {
            short_product(c, q[HALVES - 1][i][0], q[HALVES - 1][i][1], high);
            short_product(c, q[0][i][0], q[0][i][1], word(keys + s.head_size() + 8 * i));
        }
        short_product(c, q[0][i][0], q[0][i][1], high);
    }
    if (key + 8 > seen.upper) {
        if (key + 2 * t >= seen.upper) c[0] = MINUS_INF;
        if (key + 2 * t + 1 >= seen.upper) c[1] = MINUS_INF;
    }
    if (key + 8 > seen.lower) {
        if (key + 2 * t >= seen.lower) c[2] = MINUS_INF;
        if (key + 2 * t + 1 >= seen.lower) c[3] = MINUS_INF;
    }
}

constexpr int AT_ONCE = 16;  // tiles of 8 keys whose scores are held in registers

// Attends with one tile of queries to all keys, 128 at a time with a running maximum. The tile's owner gets the result.
__device__ void attend(const Shared &s, const List &list, int head, int tile) {
    const Seen seen = seen_tokens(list, tile);
    const int tokens = seen.any;
    const int g = lane_id() / 4, t = lane_id() % 4;
    Query q;
    for (int half = 0; half < HALVES; half++)
        for (int i = 0; i < HEAD / 8; i++) {
            const half_t *row = s.q + half * s.head_size() + (tile * TILE + g) * HEAD + 8 * i + 2 * t;
            q[half][i][0] = word(row), q[half][i][1] = word(row + 8 * HEAD);
        }
    float upper = MINUS_INF, lower = MINUS_INF, upper_sum = 0, lower_sum = 0, out[HEAD_TILES][4] = {}, other[HEAD_TILES][4] = {};
    for (int first = 0; first < tokens; first += 8 * AT_ONCE) {
        float c[AT_ONCE][4], high = upper, low = lower;
#pragma unroll
        for (int n = 0; n < AT_ONCE; n++) {
            if (first + 8 * n < tokens) attention_scores(c[n], s, q, first + 8 * n, seen);
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
            const Split p0 = split(c[n][0], c[n][1]), p1 = split(c[n][2], c[n][3]), p2 = split(c[n + 1][0], c[n + 1][1]), p3 = split(c[n + 1][2], c[n + 1][3]);
            const unsigned p[4] = {p0.high, p1.high, p2.high, p3.high}, p_low[4] = {p0.low, p1.low, p2.low, p3.low};
            for (int i = 0; i < HEAD_TILES; i++) {
                const half_t *values = s.v + (8 * i + g) * s.v_row + first + 8 * n + 2 * t, *low = values + s.v_size();
                float(&sums)[4] = n % 4 ? other[i] : out[i];  // two independent sums
                if (HALVES == 2) product(sums, p_low, word(values), word(values + 8)), product(sums, p, word(low), word(low + 8));
                product(sums, p, word(values), word(values + 8));
            }
        }
    }
    const float up = 1 / quad_sum(upper_sum), down = 1 / quad_sum(lower_sum);
    half_t *target = s.attended + (tile / CLUSTER * TILE + g) * ROW + head * HEAD + 2 * t;
    for (int i = 0; i < HEAD_TILES; i++) {
        for (int e = 0; e < 4; e++) out[i][e] += other[i][e];
        const Split upper_row = split(out[i][0] * up, out[i][1] * up), lower_row = split(out[i][2] * down, out[i][3] * down);
        store_to_block(tile % CLUSTER, target + 8 * i, upper_row.high);
        store_to_block(tile % CLUSTER, target + 8 * ROW + 8 * i, lower_row.high);
        if (HALVES == 2) {
            store_to_block(tile % CLUSTER, target + s.attended_size() + 8 * i, upper_row.low);
            store_to_block(tile % CLUSTER, target + s.attended_size() + 8 * ROW + 8 * i, lower_row.low);
        }
    }
}
