// Scoring one chunk of items at all positions: three methods, by the number of positions and the format of the items.
#include <algorithm>
#include <cmath>

#include "block_top_k.h"
#include "dots.h"
#include "product.h"

namespace {

constexpr int64_t FEW_POSITIONS = W / 2;  // up to this many, scoring position by position is faster than by tiles
constexpr float RESCALE_AT = 30.0f;  // rescale a sum of exponentials when a score exceeds its reference by this much

// Sums of e^(score - top), one per lane; `top` is one of the scores and is raised when another one is far higher.
struct RunningSum {
    V top = all(MINUS_INFINITY), sum = {};

    // Rescales the sums so that scores up to `highest` can be added.
    void raise(V highest) {
        if (!any_above(highest, top + RESCALE_AT)) return;
        V raised = highest > top + RESCALE_AT ? highest : top;
        sum = sum * exp(top - raised);
        top = raised;
    }

    V exp_relative(V score) const { return power_of_2((score - top) * LOG2_E); }
};

void dots_for(int64_t positions, const float* vectors, const float* items, int64_t rows, int64_t depth, int64_t ahead,
              V* out) {
    switch (positions) {
        case 1: return dots<1>(vectors, items, rows, depth, out, ahead);
        case 2: return dots<2>(vectors, items, rows, depth, out, ahead);
        case 3: return dots<3>(vectors, items, rows, depth, out, ahead);
        default: return dots<4>(vectors, items, rows, depth, out, ahead);
    }
}

constexpr int64_t POSITIONS_AT_ONCE = 8 / VECTORS > 0 ? 8 / VECTORS : 1;  // enough sums to hide an addition's latency

// Calls compute(positions), at most POSITIONS_AT_ONCE, with a number that is known at compile time.
template <class Compute>
inline void for_positions(int64_t positions, Compute&& compute) {
    switch (positions) {
        case 1: return compute(std::integral_constant<int, 1>());
        case 2: return compute(std::integral_constant<int, 2>());
        case 3: return compute(std::integral_constant<int, 3>());
        case 4: return compute(std::integral_constant<int, 4>());
        case 5: return compute(std::integral_constant<int, 5>());
        case 6: return compute(std::integral_constant<int, 6>());
        case 7: return compute(std::integral_constant<int, 7>());
        default: return compute(std::integral_constant<int, 8>());
    }
}

}  // namespace

void BlockTopK::score_chunk(int64_t chunk) {
    if (items_.rounded) {
        for (int64_t p = 0; p < count_; p += MAX_ROUNDED_POSITIONS)
            score_rounded(chunk, p, std::min(MAX_ROUNDED_POSITIONS, count_ - p));
        return;
    }
    if (count_ <= FEW_POSITIONS) return score_few(chunk);
    int64_t tiles = tiles_for(count_);
    for (int64_t t = 0; t < tiles;) {
        switch (tiles - t) {
            case 1: score_tiles<1>(chunk, t); t += 1; break;
            case 2:
            case 4: score_tiles<2>(chunk, t); t += 2; break;
            default: score_tiles<3>(chunk, t); t += 3;
        }
    }
}

// Scores the chunk with C tiles of positions: positions are in the lanes.
template <int C>
void BlockTopK::score_tiles(int64_t chunk, int64_t tile) {
    alignas(64) float scores[ITEMS_AT_ONCE][C][W];
    RunningSum running[C];
    V bound[C];
    for (int c = 0; c < C; ++c) bound[c] = all(MINUS_INFINITY);
    int64_t start = first_ + chunk * CHUNK, end = std::min(start + CHUNK, last_), D = items_.width;
    for (int64_t item = start; item < end; item += ITEMS_AT_ONCE) {
        int64_t rows = std::min(ITEMS_AT_ONCE, end - item);
        product_across<C>(items_.weight + item * D, items_.bias ? items_.bias + item : nullptr, rows, D,
                          columns_.tile(tile), columns_.stride,
                          [&](int64_t r, int c, V value) __attribute__((always_inline)) { store(scores[r][c], value); },
                          tile == 0 ? PREFETCH_ITEMS * D : 0);
        for (int c = 0; c < C; ++c) {
            V highest = load(scores[0][c]), more = {};
            for (int64_t r = 1; r < rows; ++r) highest = larger(highest, load(scores[r][c]));
            running[c].raise(highest);
            for (int64_t r = 0; r < rows; ++r) more += running[c].exp_relative(load(scores[r][c]));
            running[c].sum += more;
            bound[c] = larger(bound[c], highest);
        }
        if ((item - first_ + ITEMS_AT_ONCE) % block_size_ && item + ITEMS_AT_ONCE < end) continue;
        int64_t block = (item - first_) / block_size_;
        for (int c = 0; c < C; ++c) {
            for (int l = 0; l < W; ++l) bounds_[((tile + c) * W + l) * blocks_ + block] = bound[c][l];
            bound[c] = all(MINUS_INFINITY);
        }
    }
    for (int c = 0; c < C; ++c) {
        store(maxima_ + ((tile + c) * chunks_ + chunk) * W, running[c].top);
        store(sums_ + ((tile + c) * chunks_ + chunk) * W, running[c].sum);
    }
}

// Scores the chunk with few positions: items are in the lanes, W at a time.
void BlockTopK::score_few(int64_t chunk) {
    RunningSum running[FEW_POSITIONS];
    V bound[FEW_POSITIONS], scores[4];
    std::fill(bound, bound + count_, all(MINUS_INFINITY));
    int64_t start = first_ + chunk * CHUNK, end = std::min(start + CHUNK, last_), D = items_.width;
    for (int64_t item = start; item < end; item += W) {
        int64_t rows = std::min<int64_t>(W, end - item);
        V bias = {};
        if (items_.bias && rows == W) bias = load(items_.bias + item);
        for (int64_t r = 0; items_.bias && rows < W && r < rows; ++r) bias[r] = items_.bias[item + r];
        for (int64_t p = 0; p < count_; p += 4) {
            dots_for(std::min<int64_t>(4, count_ - p), rows_ + p * D, items_.weight + item * D, rows, D,
                     p == 0 ? PREFETCH_ITEMS * D : 0, scores);
            for (int64_t i = 0; i < 4 && p + i < count_; ++i) {
                V score = scores[i] + bias;
                if (rows < W) score = lanes() < int32_t(rows) ? score : all(MINUS_INFINITY);
                running[p + i].raise(score);
                running[p + i].sum += running[p + i].exp_relative(score);
                bound[p + i] = larger(bound[p + i], score);
            }
        }
        if ((item - first_ + W) % block_size_ && item + W < end) continue;
        for (int64_t p = 0; p < count_; ++p) {
            bounds_[p * blocks_ + (item - first_) / block_size_] = largest(bound[p]);
            bound[p] = all(MINUS_INFINITY);
        }
    }
    for (int64_t p = 0; p < count_; ++p) {
        int64_t at = chunk * W + p;  // fewer than W positions are a single tile
        maxima_[at] = largest(running[p].top);
        V parts = running[p].sum * exp(running[p].top - maxima_[at]);
        sums_[at] = 0;
        for (int l = 0; l < W; ++l) sums_[at] += parts[l];
    }
}

// Computes the products of `columns` columns with sixteen items from `item` on, by rounded vectors and without steps.
inline void BlockTopK::rounded_products(int64_t item, int64_t column, int64_t columns, V (*out)[VECTORS]) const {
    int64_t D = items_.width, pairs = items_.padded_width() / 2;
    const int16_t* items = items_.rounded + (item - first_) * 2 * pairs;
    for_positions(columns, [&](auto count) {
        constexpr int P = decltype(count)::value;
        if constexpr (HAS_INTEGER_DOTS)
            if (pairs_) return integer_dots<P>(pairs_ + column * pairs, column_steps_ + column, items, pairs, out);
        rounded_dots<P>(rows_ + column * D, items, D, out);
    });
}

// Writes the scores of sixteen items from `item` on by their rounded vectors; minus infinity beyond the last one.
void BlockTopK::rounded_scores(int64_t item, int64_t column, float* out) const {
    V sums[1][VECTORS];
    int64_t row = item - first_;
    rounded_products(item, column, 1, sums);
    biases(item, out);
    for (int i = 0; i < VECTORS; ++i)
        store(out + i * W, sums[0][i] * load(items_.steps + row + i * W) + load(out + i * W));
}

// Scores the chunk by rounded vectors: items are in the lanes, sixteen at a time.
void BlockTopK::score_rounded(int64_t chunk, int64_t position, int64_t positions) {
    RunningSum running[MAX_ROUNDED_POSITIONS][VECTORS];
    V bound[MAX_ROUNDED_POSITIONS], scores[8][VECTORS];
    std::fill(bound, bound + positions, all(MINUS_INFINITY));
    int64_t start = first_ + chunk * CHUNK, end = std::min(start + CHUNK, last_);
    for (int64_t item = start; item < end; item += ITEMS_AT_ONCE) {
        alignas(64) float bias[ITEMS_AT_ONCE];
        biases(item, bias);
        for (int64_t p = 0; p < positions; p += POSITIONS_AT_ONCE) {
            int64_t here = std::min(POSITIONS_AT_ONCE, positions - p);
            rounded_products(item, position + p, here, scores);
            for (int64_t i = 0; i < here; ++i)
                for (int part = 0; part < VECTORS; ++part) {
                    V step = load(items_.steps + (item - first_) + part * W);
                    V score = scores[i][part] * step + load(bias + part * W);
                    running[p + i][part].raise(score);
                    running[p + i][part].sum += running[p + i][part].exp_relative(score);
                    bound[p + i] = larger(bound[p + i], score + error_bound_[position + p + i] * step);
                }
        }
        if ((item - first_ + ITEMS_AT_ONCE) % block_size_ && item + ITEMS_AT_ONCE < end) continue;
        for (int64_t p = 0; p < positions; ++p) {
            bounds_[(position + p) * blocks_ + (item - first_) / block_size_] = largest(bound[p]);
            bound[p] = all(MINUS_INFINITY);
        }
    }
    for (int64_t p = 0; p < positions; ++p) {
        float top = MINUS_INFINITY, sum = 0;
        for (const RunningSum& part : running[p]) top = std::max(top, largest(part.top));
        for (const RunningSum& part : running[p]) {
            V parts = part.sum * exp(part.top - top);
            for (int l = 0; l < W; ++l) sum += parts[l];
        }
        int64_t at = ((position + p) / W * chunks_ + chunk) * W + (position + p) % W;
        maxima_[at] = top, sums_[at] = sum;
    }
}
