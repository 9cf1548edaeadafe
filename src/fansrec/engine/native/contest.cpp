#include "contest.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dots.h"
#include "product.h"

namespace {

constexpr int64_t TILE = 512;     // items whose vectors stay near the processor while all positions meet them
constexpr int64_t AT_ONCE = 16;   // items whose scores are at hand
constexpr int64_t AHEAD = 48;     // items from the ones met to the ones fetched from memory
constexpr int64_t BLOCKS = 4096;  // more of them are worth making larger
constexpr int64_t LARGEST = 256;
constexpr int64_t FEW = W / 2;  // so many positions are met faster one by one than as a strip
constexpr int64_t CROWD = 32;  // of so many positions, products take longer than reading whole numbers
constexpr float ROUNDED = 1.0f / 2048 + 1.0f / (1 << 20);  // of a half, and of the sums made with it
constexpr float NOTABLE = -4.6f;  // the logarithm of a hundredth: so much of a sum is not lost among others
constexpr float TINY = 1e-6f;  // the same of halves that are nearly nothing
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

void some_dots(int64_t positions, const float* vectors, const float* items, int64_t rows, int64_t depth, int64_t ahead,
               V* out) {
    switch (positions) {
        case 1: return dots<1>(vectors, items, rows, depth, out, ahead);
        case 2: return dots<2>(vectors, items, rows, depth, out, ahead);
        case 3: return dots<3>(vectors, items, rows, depth, out, ahead);
        default: return dots<4>(vectors, items, rows, depth, out, ahead);
    }
}

constexpr int PARTS = AT_ONCE / W;  // vectors that 16 items fill

// The scores of 16 items, as halves side by side, at P positions. An addition waits for the one before it in the same
// sum, so few positions have several sums each.
template <int P>
inline void meet_halves(const float* vectors, const uint16_t* items, int64_t depth, V (*out)[PARTS]) {
    constexpr int SUMS = P * PARTS >= 8 ? 1 : P * PARTS >= 4 ? 2 : 4;
    V sum[SUMS][P][PARTS] = {};
    auto add = [&](int64_t d, int s) __attribute__((always_inline)) {
        V item[PARTS];
        for (int i = 0; i < PARTS; ++i) item[i] = load(items + d * AT_ONCE + i * W);
#pragma GCC unroll 8
        for (int p = 0; p < P; ++p)
            for (int i = 0; i < PARTS; ++i) sum[s][p][i] += vectors[p * depth + d] * item[i];
    };
    int64_t d = 0;
    for (; d + 4 <= depth; d += 4) {
        __builtin_prefetch(items + AHEAD * depth + d * AT_ONCE, 0, 2);
        __builtin_prefetch(items + AHEAD * depth + (d + 2) * AT_ONCE, 0, 2);
#pragma GCC unroll 4
        for (int s = 0; s < 4; ++s) add(d + s, s % SUMS);
    }
    for (; d < depth; ++d) add(d, 0);
    for (int p = 0; p < P; ++p)
        for (int i = 0; i < PARTS; ++i) {
            for (int s = 1; s < SUMS; ++s) sum[0][p][i] += sum[s][p][i];
            out[p][i] = sum[0][p][i];
        }
}

constexpr int64_t MEET = 8 / PARTS > 0 ? 8 / PARTS : 1;  // positions at once: as many sums as hide an addition

void meet_some(int64_t positions, const float* vectors, const uint16_t* items, int64_t depth, V (*out)[PARTS]) {
    switch (positions) {
        case 1: return meet_halves<1>(vectors, items, depth, out);
        case 2: return meet_halves<2>(vectors, items, depth, out);
        case 3: return meet_halves<3>(vectors, items, depth, out);
        case 4: return meet_halves<4>(vectors, items, depth, out);
        case 5: return meet_halves<5>(vectors, items, depth, out);
        case 6: return meet_halves<6>(vectors, items, depth, out);
        case 7: return meet_halves<7>(vectors, items, depth, out);
        default: return meet_halves<8>(vectors, items, depth, out);
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
    doubt_ = room.take<float>(lanes);
    std::fill(doubt_, doubt_ + lanes, 0.0f);
    exact_ = room.take<bool>(lanes);
    std::fill(exact_, exact_ + lanes, false);
    if (!READS_HALVES || count > CROWD) items_.halves = nullptr;
    for (int64_t c = 0; c < count; ++c) {
        float squares = 0;
        for (int64_t d = 0; d < items.width; ++d) {
            float x = rows_[c * items.width + d] = columns.at(d, c);
            squares += x * x;
        }
        if (items_.halves) doubt_[c] = std::sqrt(squares) * (items.longest * ROUNDED + TINY);
    }
}

void Contest::play(int64_t tile) {
    if (items_.halves) return play_halves(tile);
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
        product_across<C>(items_.weight + item * D, items_.bias ? items_.bias + item : nullptr, rows, D,
                          columns_.strip(strip), columns_.stride,
                          [&](int64_t r, int c, V value) __attribute__((always_inline)) { store(scores[r][c], value); },
                          strip == 0 ? AHEAD * D : 0);
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
        V bias = {};
        if (items_.bias && rows == W) bias = load(items_.bias + item);
        for (int64_t r = 0; items_.bias && rows < W && r < rows; ++r) bias[r] = items_.bias[item + r];
        for (int64_t p = 0; p < count_; p += 4) {
            some_dots(std::min<int64_t>(4, count_ - p), rows_ + p * D, items_.weight + item * D, rows, D,
                      p == 0 ? AHEAD * D : 0, scores);
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

// Items in the lanes, sixteen at a time.
void Contest::play_halves(int64_t tile) {
    Running running[CROWD][PARTS];
    V promise[CROWD], scores[8][PARTS];
    std::fill(promise, promise + count_, all(MINUS_INFINITY));
    int64_t start = first_ + tile * TILE, end = std::min(start + TILE, last_), D = items_.width;
    for (int64_t item = start; item < end; item += AT_ONCE) {
        alignas(64) float bias[AT_ONCE] = {};
        if (items_.bias && item + AT_ONCE <= end) std::memcpy(bias, items_.bias + item, sizeof bias);
        else
            for (int64_t r = 0; r < AT_ONCE; ++r)  // behind the last item stand none
                bias[r] = item + r >= end ? MINUS_INFINITY : items_.bias ? items_.bias[item + r] : 0.0f;
        for (int64_t p = 0; p < count_; p += MEET) {
            int64_t here = std::min(MEET, count_ - p);
            meet_some(here, rows_ + p * D, items_.halves + (item - first_) * D, D, scores);
            for (int64_t i = 0; i < here; ++i)
                for (int part = 0; part < PARTS; ++part) {
                    V score = scores[i][part] + load(bias + part * W);
                    running[p + i][part].raise(score);
                    running[p + i][part].sum += running[p + i][part].power(score);
                    promise[p + i] = larger(promise[p + i], score);
                }
        }
        if ((item - first_ + AT_ONCE) % block_ && item + AT_ONCE < end) continue;
        for (int64_t p = 0; p < count_; ++p) {
            promises_[p * blocks_ + (item - first_) / block_] = largest(promise[p]) + doubt_[p];
            promise[p] = all(MINUS_INFINITY);
        }
    }
    for (int64_t p = 0; p < count_; ++p) {
        float top = MINUS_INFINITY, sum = 0;
        for (const Running& part : running[p]) top = std::max(top, largest(part.top));
        for (const Running& part : running[p]) {
            V parts = part.sum * exp(part.top - top);
            for (int l = 0; l < W; ++l) sum += parts[l];
        }
        int64_t at = (p / W * tiles_ + tile) * W + p % W;
        tops_[at] = top, sums_[at] = sum;
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

// A sum made from halves is right where many items share it: their errors cancel. What single ones bring is put right.
void Contest::make_exact(int64_t column) {
    float total = log_total_[column], missing = 0;
    for (int64_t block = 0; block < blocks_; ++block) {
        if (promises_[column * blocks_ + block] < total + NOTABLE) continue;
        int64_t start = first_ + block * block_, end = std::min(start + block_, last_);
        for (int64_t item = start; item < end; item += AT_ONCE) {
            alignas(64) float whole[AT_ONCE], rounded[AT_ONCE];
            V halves[1][PARTS];
            meet_halves<1>(rows_ + column * items_.width, items_.halves + (item - first_) * items_.width, items_.width, halves);
            for (int i = 0; i < PARTS; ++i) {
                store(rounded + i * W, halves[0][i]);
                if (item + i * W < end) scores(item + i * W, column, whole + i * W);
            }
            for (int64_t r = 0; r < std::min(AT_ONCE, end - item); ++r) {
                float bias = items_.bias ? items_.bias[item + r] : 0.0f;
                missing += std::exp(whole[r] - total) - std::exp(rounded[r] + bias - total);
            }
        }
    }
    log_total_[column] = total + std::log1p(missing);
    exact_[column] = true;
}

int64_t Contest::highest(const float* promises) const {
    V tops = all(MINUS_INFINITY);
    int64_t b = 0;
    for (; b + W <= blocks_; b += W) tops = larger(tops, load(promises + b));
    float top = largest(tops);
    for (; b < blocks_; ++b) top = std::max(top, promises[b]);
    for (b = 0; b < blocks_; ++b)
        if (promises[b] == top) return b;
    return -1;  // none of them is a number
}

void Contest::scores(int64_t item, int64_t column, float* out) const {
    V scores;
    int64_t rows = std::min<int64_t>(W, last_ - item), D = items_.width;
    dots<1>(rows_ + column * D, items_.weight + item * D, rows, D, &scores);
    store(out, scores);
    for (int64_t r = 0; r < rows && items_.bias; ++r) out[r] += items_.bias[item + r];
}
