#include "contest.h"

#include <algorithm>
#include <cmath>

#include "dots.h"
#include "product.h"

namespace {

constexpr int64_t TILE = 512;     // items whose vectors stay near the processor while all positions meet them
constexpr int64_t AT_ONCE = 16;   // items whose scores are at hand
constexpr int64_t AHEAD = 48;     // items from the ones met to the ones fetched from memory
constexpr int64_t BLOCKS = 4096;  // more of them are worth making larger
constexpr int64_t LARGEST = 256;
constexpr int64_t FEW = 3 * W / 4;  // so many positions are met faster one by one than as a strip
constexpr float FAR = 30.0f;  // a sum is taken relative to one of its scores until another is so much higher

int64_t block_for(int64_t items) {
    int64_t block = AT_ONCE;
    while (block < LARGEST && items / block > BLOCKS) block *= 2;
    return block;
}

// Sums of e^score relative to one of the scores, which is raised when another is far higher.
struct Running {
    V top = all(MINUS_INFINITY), sum = {};

    // Make room for scores up to `highest`.
    void raise(V highest) {
        if (!any_above(highest, top + FAR)) return;
        V raised = highest > top + FAR ? highest : top;
        sum = sum * exp(top - raised);
        top = raised;
    }

    V power(V score) const { return power_of_2((score - top) * LOG2_E); }
};

void some_dots(int64_t positions, const float* vectors, const float* items, int64_t rows, int64_t depth, V* out) {
    switch (positions) {
        case 1: return dots<1>(vectors, items, rows, depth, out);
        case 2: return dots<2>(vectors, items, rows, depth, out);
        case 3: return dots<3>(vectors, items, rows, depth, out);
        default: return dots<4>(vectors, items, rows, depth, out);
    }
}

}  // namespace

Contest::Contest(ItemVectors items, int64_t first, int64_t last, Strips columns, int64_t count, Workspace& room)
    : items_(items), first_(first), last_(last), count_(count), columns_(columns) {
    block_ = block_for(last - first);
    blocks_ = (last - first + block_ - 1) / block_;
    tiles_ = (last - first + TILE - 1) / TILE;
    int64_t lanes = strips_for(count) * W;
    promises_ = room.take<float>(lanes * blocks_);
    tops_ = room.take<float>(lanes * tiles_);
    sums_ = room.take<float>(lanes * tiles_);
    log_total_ = room.take<float>(lanes);
    rows_ = room.take<float>(count * items.width);
    for (int64_t c = 0; c < count; ++c)
        for (int64_t d = 0; d < items.width; ++d) rows_[c * items.width + d] = columns.at(d, c);
}

void Contest::play(int64_t tile) {
    if (count_ <= FEW) return play_few(tile);
    int64_t strips = strips_for(count_);
    for (int64_t s = 0; s < strips;) {
        switch (strips - s) {
            case 1: play_strips<1>(tile, s); s += 1; break;
            case 2:
            case 4: play_strips<2>(tile, s); s += 2; break;
            default: play_strips<3>(tile, s); s += 3;
        }
    }
}

// Processors foresee what comes next only up to the end of a page, and items of the usual width are sixteen a page.
inline void Contest::fetch_ahead(int64_t item, int64_t count) const {
    int64_t D = items_.width;
    if (item + AHEAD + count > last_) return;
    for (int64_t line = 0; line < count * D; line += 16)
        __builtin_prefetch(items_.weight + (item + AHEAD) * D + line, 0, 2);
}

// Positions in the lanes.
template <int C>
void Contest::play_strips(int64_t tile, int64_t strip) {
    alignas(64) float scores[AT_ONCE][C][W];
    Running running[C];
    V promise[C];
    for (int c = 0; c < C; ++c) promise[c] = all(MINUS_INFINITY);
    int64_t start = first_ + tile * TILE, end = std::min(start + TILE, last_), D = items_.width;
    for (int64_t item = start; item < end; item += AT_ONCE) {
        int64_t rows = std::min(AT_ONCE, end - item);
        if (strip == 0) fetch_ahead(item, AT_ONCE);
        product_across<C>(items_.weight + item * D, items_.bias ? items_.bias + item : nullptr, rows, D,
                          columns_.strip(strip), columns_.stride,
                          [&](int64_t r, int c, V value) __attribute__((always_inline)) { store(scores[r][c], value); });
        for (int c = 0; c < C; ++c) {
            V highest = load(scores[0][c]), more = {};
            for (int64_t r = 1; r < rows; ++r) highest = larger(highest, load(scores[r][c]));
            running[c].raise(highest);
            for (int64_t r = 0; r < rows; ++r) more += running[c].power(load(scores[r][c]));
            running[c].sum += more;
            promise[c] = larger(promise[c], highest);
        }
        if ((item - first_ + AT_ONCE) % block_ && item + AT_ONCE < end) continue;
        int64_t block = (item - first_) / block_;
        for (int c = 0; c < C; ++c) {
            for (int l = 0; l < W; ++l) promises_[((strip + c) * W + l) * blocks_ + block] = promise[c][l];
            promise[c] = all(MINUS_INFINITY);
        }
    }
    for (int c = 0; c < C; ++c) {
        store(tops_ + ((strip + c) * tiles_ + tile) * W, running[c].top);
        store(sums_ + ((strip + c) * tiles_ + tile) * W, running[c].sum);
    }
}

// Items in the lanes; the positions meet each W of them one after the other.
void Contest::play_few(int64_t tile) {
    Running running[FEW];
    V promise[FEW], scores[4];
    std::fill(promise, promise + count_, all(MINUS_INFINITY));
    int64_t start = first_ + tile * TILE, end = std::min(start + TILE, last_), D = items_.width;
    for (int64_t item = start; item < end; item += W) {
        int64_t rows = std::min<int64_t>(W, end - item);
        fetch_ahead(item, W);
        V bias = {};
        if (items_.bias) std::memcpy(&bias, items_.bias + item, rows * sizeof(float));
        for (int64_t p = 0; p < count_; p += 4) {
            some_dots(std::min<int64_t>(4, count_ - p), rows_ + p * D, items_.weight + item * D, rows, D, scores);
            for (int64_t i = 0; i < 4 && p + i < count_; ++i) {
                V score = scores[i] + bias;
                if (rows < W) score = lanes() < int32_t(rows) ? score : all(MINUS_INFINITY);
                running[p + i].raise(score);
                running[p + i].sum += running[p + i].power(score);
                promise[p + i] = larger(promise[p + i], score);
            }
        }
        if ((item - first_ + W) % block_ && item + W < end) continue;
        for (int64_t p = 0; p < count_; ++p) {
            promises_[p * blocks_ + (item - first_) / block_] = largest(promise[p]);
            promise[p] = all(MINUS_INFINITY);
        }
    }
    for (int64_t p = 0; p < count_; ++p) {
        int64_t at = tile * W + p;  // fewer than W: a single strip
        tops_[at] = largest(running[p].top);
        V parts = running[p].sum * exp(running[p].top - tops_[at]);
        sums_[at] = 0;
        for (int l = 0; l < W; ++l) sums_[at] += parts[l];
    }
}


void Contest::settle() {
    for (int64_t s = 0; s < strips_for(count_); ++s) {
        const float *tops = tops_ + s * tiles_ * W, *sums = sums_ + s * tiles_ * W;
        V top = load(tops), sum = {}, lost = {};
        for (int64_t t = 1; t < tiles_; ++t) top = larger(top, load(tops + t * W));
        for (int64_t t = 0; t < tiles_; ++t) {  // with what rounding lost carried along: there may be thousands
            V part = load(sums + t * W) * exp(load(tops + t * W) - top) - lost;
            V next = sum + part;
            lost = (next - sum) - part;
            sum = next;
        }
        for (int l = 0; l < W; ++l) log_total_[s * W + l] = top[l] + std::log(sum[l]);
    }
}

int64_t Contest::highest(const float* promises) const {
    V tops = all(MINUS_INFINITY);
    int64_t b = 0;
    for (; b + W <= blocks_; b += W) tops = larger(tops, load(promises + b));
    float top = largest(tops);
    for (; b < blocks_; ++b) top = std::max(top, promises[b]);
    b = 0;
    while (promises[b] != top) ++b;
    return b;
}

void Contest::scores(int64_t item, int64_t column, float* out) const {
    V scores;
    int64_t rows = std::min<int64_t>(W, last_ - item), D = items_.width;
    dots<1>(rows_ + column * D, items_.weight + item * D, rows, D, &scores);
    store(out, scores);
    for (int64_t r = 0; r < rows && items_.bias; ++r) out[r] += items_.bias[item + r];
}
