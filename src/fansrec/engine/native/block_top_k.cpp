#include "block_top_k.h"

#include <algorithm>
#include <cmath>

#include "comparisons.h"
#include "dots.h"

namespace {

constexpr int64_t MAX_BLOCKS = 4096;  // beyond, blocks become larger
constexpr int64_t MAX_BLOCK_SIZE = 256;
constexpr float ROUNDING_ERROR = 0.5f + 1.0f / 32;  // of a rounded number, in steps; and 2^-20 of the largest: of sums
constexpr float MAX_SCORE_ERROR = 1;  // of rounded vectors: sums with larger errors cannot be corrected
constexpr float MAX_COLUMN_ERROR = 1.0f / 32;  // the same if columns are rounded: their errors do not average out
constexpr float LARGE_SHARE = -3.9f;  // the logarithm of 2%: the error of such a share of a sum does not average out

int64_t block_size_for(int64_t items) {
    int64_t size = ITEMS_AT_ONCE;
    while (size < MAX_BLOCK_SIZE && items / size > MAX_BLOCKS) size *= 2;
    return size;
}

}  // namespace

BlockTopK::BlockTopK(ItemVectors items, int64_t first, int64_t last, Tiles columns, int64_t count, Rounding rounding,
                     Workspace& workspace)
    : items_(items), first_(first), last_(last), count_(count), columns_(columns) {
    block_size_ = block_size_for(last - first);
    blocks_ = (last - first + block_size_ - 1) / block_size_;
    chunks_ = (last - first + CHUNK - 1) / CHUNK;
    int64_t lanes = tiles_for(count) * W;
    bounds_ = workspace.take<float>(lanes * blocks_);
    maxima_ = workspace.take<float>(lanes * chunks_);
    sums_ = workspace.take<float>(lanes * chunks_);
    log_sum_ = workspace.take<float>(lanes);
    rows_ = workspace.take<float>(count * items.width);
    error_bound_ = workspace.take<float>(lanes);
    is_exact_ = workspace.take<bool>(lanes);
    for (int64_t c = 0; c < count; ++c) {
        float sum = 0;
        for (int64_t d = 0; d < items.width; ++d)
            sum += std::abs(rows_[c * items.width + d] = columns.at(d, c));
        error_bound_[c] = ROUNDING_ERROR * sum;
        if (!(error_bound_[c] * items_.largest_step <= MAX_SCORE_ERROR)) items_.rounded = nullptr;
    }
    if (HAS_INTEGER_DOTS && items_.rounded && rounding == Rounding::ITEMS_AND_COLUMNS) round_columns(workspace);
    if (count > MAX_ROUNDED_POSITIONS && !pairs_) items_.rounded = nullptr;
    std::fill(is_exact_, is_exact_ + lanes, !items_.rounded);
}

// Rounds the columns to integers, unless the scores of one of them would become too inexact. The error of a score in
// steps of the item: that of the item's numbers times the column, and that of the column times numbers of up to 15 bits.
void BlockTopK::round_columns(Workspace& workspace) {
    int64_t D = items_.width, pairs = items_.padded_width() / 2;
    float* steps = workspace.take<float>(count_);
    for (int64_t c = 0; c < count_; ++c) {
        steps[c] = step_of(rows_ + c * D, D);
        float error = error_bound_[c] + ROUNDING_ERROR * steps[c] * LARGEST_NUMBER * float(D);
        if (!(error * items_.largest_step <= MAX_COLUMN_ERROR)) return;
    }
    column_steps_ = steps;
    pairs_ = workspace.take<int32_t>(count_ * pairs);
    for (int64_t c = 0; c < count_; ++c) {
        error_bound_[c] += ROUNDING_ERROR * steps[c] * LARGEST_NUMBER * float(D);
        round_vector(rows_ + c * D, D, steps[c], pairs_ + c * pairs);
    }
}

void BlockTopK::finish() {
    for (int64_t tile = 0; tile < tiles_for(count_); ++tile) {
        const float *maxima = maxima_ + tile * chunks_ * W, *sums = sums_ + tile * chunks_ * W;
        V top = load(maxima), sum = {}, error = {};
        for (int64_t c = 1; c < chunks_; ++c) top = larger(top, load(maxima + c * W));
        for (int64_t c = 0; c < chunks_; ++c) {  // compensated summation, since there may be thousands of chunks
            V part = load(sums + c * W) * exp(load(maxima + c * W) - top) - error;
            V next = sum + part;
            error = (next - sum) - part;
            sum = next;
        }
        for (int l = 0; l < W; ++l) log_sum_[tile * W + l] = top[l] + std::log(sum[l]);
    }
}

// Corrects a sum computed from rounded vectors. The rounding errors of many items cancel; those of items with a large
// share of the sum do not, so their exponentials are replaced by exact ones.
void BlockTopK::correct_log_sum(int64_t column) {
    if (is_exact_[column]) return;
    float total = log_sum_[column], least = total + LARGE_SHARE, difference = 0;
    visit_high(bounds(column), blocks_, [&] { return least; }, [&](int64_t block) {
        int64_t start = first_ + block * block_size_, end = std::min(start + block_size_, last_);
        for (int64_t first = start; first < end; first += ITEMS_AT_ONCE) {
            alignas(64) float scores[ITEMS_AT_ONCE];
            rounded_scores(first, column, scores);
            for (unsigned bits = above(scores, least); bits; bits &= bits - 1) {
                int64_t i = __builtin_ctz(bits);
                difference += std::exp(score(first + i, column) - total) - std::exp(scores[i] - total);
            }
        }
    });
    log_sum_[column] = total + std::log1p(difference);
    is_exact_[column] = true;
}

// Returns the score of one item.
float BlockTopK::score(int64_t item, int64_t column) const {
    int64_t D = items_.width;
    return dot(rows_ + column * D, items_.weight + item * D, D) + (items_.bias ? items_.bias[item] : 0.0f);
}

float BlockTopK::highest_bound(int64_t column) const {
    const float* of_column = bounds(column);
    V maxima = all(MINUS_INFINITY);
    int64_t b = 0;
    for (; b + W <= blocks_; b += W) maxima = larger(maxima, load(of_column + b));
    float top = largest(maxima);
    for (; b < blocks_; ++b) top = std::max(top, of_column[b]);
    return top;
}

// Returns the first block with the highest bound, or -1 if no bound is a number.
int64_t BlockTopK::highest_block(int64_t column) const {
    const float *of_column = bounds(column), top = highest_bound(column);
    for (int64_t b = 0; b < blocks_; ++b)
        if (of_column[b] == top) return b;
    return -1;
}

// Writes the biases of sixteen items from `item` on; minus infinity beyond the last one.
void BlockTopK::biases(int64_t item, float* out) const {
    int64_t rows = std::min(ITEMS_AT_ONCE, last_ - item);
    std::fill(out + rows, out + ITEMS_AT_ONCE, MINUS_INFINITY);
    if (items_.bias)
        std::copy(items_.bias + item, items_.bias + item + rows, out);
    else
        std::fill(out, out + rows, 0.0f);
}

void BlockTopK::scores(int64_t item, int64_t column, float* out) const {
    V scores;
    int64_t rows = std::min<int64_t>(W, last_ - item), D = items_.width;
    dots<1>(rows_ + column * D, items_.weight + item * D, rows, D, &scores);
    store(out, scores);
    for (int64_t r = 0; r < rows && items_.bias; ++r) out[r] += items_.bias[item + r];
}
