// Scores of a range of items at several positions, each with its own vector: the best allowed items of each position
// and the logarithm of the sum of all e^score.
//
// Scores are computed chunk by chunk and discarded. Of every block of items only an upper bound of its scores is kept.
// To find the best allowed item of a position, the block with the highest bound is scored again: if its best item is
// taken or not allowed, the bound is lowered, and the block with the next highest bound is searched. The result is
// exact for any rules and any number of items; of items with equal scores the first one wins.
#pragma once
#include "dots.h"
#include "integer_dots.h"
#include "layers.h"

// A copy of all item vectors in 16 bits: loading vectors that are not in the cache takes longer than the products. A
// vector is its integers times its step, the smallest one that covers its largest number; that is four times as exact
// as fp16. Bounds come from it, increased by the largest possible rounding error; items are chosen by the float32
// vectors.
struct RoundedVectors {
    const int16_t* pairs;    // of numbers, 16 items side by side: (rows / 16, pairs, 16, 2); null: there is no copy
    const float* steps;      // (rows)
    const int64_t* starts;   // (categories + 1): the first row of each category, a multiple of 16
    float largest_step;
};

// The vectors of all items, and the rounded ones of a range of them, if there are any.
struct ItemVectors {
    const float *weight, *bias;  // (items, width) and (items); bias may be null
    int64_t width;
    const int16_t* rounded = nullptr;
    const float* steps = nullptr;
    float largest_step = 0;

    int64_t padded_width() const { return (width + 1) / 2 * 2; }  // of a rounded vector: an odd width has a zero more

    ItemVectors(Affine item, int64_t width, const RoundedVectors& all, int64_t category)
        : weight(item.weight), bias(item.bias), width(width) {
        if (!all.pairs) return;
        rounded = all.pairs + all.starts[category] * padded_width();
        steps = all.steps + all.starts[category];
        largest_step = all.largest_step;
    }
};

// What may be rounded to compute sums and bounds. Rounded columns are faster on machines that multiply integers; the
// error of their sums is a few times as large.
enum class Rounding { ITEMS, ITEMS_AND_COLUMNS };

class BlockTopK {
   public:
    BlockTopK(ItemVectors items, int64_t first, int64_t last, Tiles columns, int64_t count, Rounding rounding,
              Workspace& workspace);

    int64_t chunks() const { return chunks_; }
    void score_chunk(int64_t chunk);  // chunks may be scored in parallel (chunk_scores.cpp)
    void finish();                    // to be called when all chunks are scored

    struct Best {
        int64_t item = -1;
        float score = MINUS_INFINITY;
    };

    // Returns the best item for which allowed(item) holds; an item that is not allowed must never be allowed later.
    // The bound of a block and the score of its best item are sums in different orders, which may differ in the last
    // bit: then the bound is lowered and the block is considered once more.
    template <class Allowed>
    Best best(int64_t column, Allowed&& allowed) {
        float* bounds = bounds_ + column * blocks_;
        correct_log_sum(column);
        Best found;
        for (int64_t searched = -1;;) {
            int64_t block = highest_block(column);
            if (block < 0 || bounds[block] == MINUS_INFINITY) return {};
            float bound = bounds[block];
            if (block != searched) found = best_of_block(block, column, allowed);
            bounds[block] = found.score;
            if (found.score >= bound) return {found.item, found.score - log_sum_[column]};
            searched = block;
        }
    }

    // For sums over positions (tied_classifier.h): the scores of up to W items from `item` on, the logarithm of the sum
    // to subtract for log-probabilities, and upper bounds of the scores of every block.
    void scores(int64_t item, int64_t column, float* out) const;
    float log_sum(int64_t column) const { return log_sum_[column]; }
    const float* log_sums() const { return log_sum_; }  // of whole tiles
    void correct_log_sum(int64_t column);  // if it was computed from rounded vectors
    const float* bounds(int64_t column) const { return bounds_ + column * blocks_; }
    float highest_bound(int64_t column) const;
    int64_t blocks() const { return blocks_; }
    int64_t block_size() const { return block_size_; }

   private:
    static constexpr int64_t CHUNK = 512;  // items whose vectors stay in the cache while all positions are scored
    static constexpr int64_t MAX_ROUNDED_POSITIONS = 32;  // beyond, float products of rounded items take too long

    ItemVectors items_;
    int64_t first_, last_, count_;  // the range of items, and the number of positions
    Tiles columns_;
    float* rows_;  // the same vectors, one after the other
    int64_t block_size_, blocks_, chunks_;
    float *bounds_, *maxima_, *sums_, *log_sum_;
    float* error_bound_;  // (positions): the largest error of a score by rounded vectors, in steps of the item
    bool* is_exact_;      // (positions): whether log_sum_ needs no correction
    int32_t* pairs_ = nullptr;  // the rounded columns, or null
    float* column_steps_ = nullptr;

    template <int C>
    void score_tiles(int64_t chunk, int64_t tile);
    void score_few(int64_t chunk);
    void score_rounded(int64_t chunk, int64_t position, int64_t positions);
    void round_columns(Workspace& workspace);
    int64_t highest_block(int64_t column) const;
    void biases(int64_t item, float* out) const;
    float score(int64_t item, int64_t column) const;
    void rounded_scores(int64_t item, int64_t column, float* out) const;
    void rounded_products(int64_t item, int64_t column, int64_t columns, V (*out)[VECTORS]) const;

    template <class Allowed>
    Best best_of_block(int64_t block, int64_t column, Allowed&& allowed) const {
        int64_t start = first_ + block * block_size_, end = start + block_size_ < last_ ? start + block_size_ : last_;
        Best found;
        float score[W];
        for (int64_t item = start; item < end; ++item) {
            if ((item - start) % W == 0) scores(item, column, score);
            float here = score[(item - start) % W];
            if (here > found.score && allowed(item)) found = {item, here};
        }
        return found;
    }
};
