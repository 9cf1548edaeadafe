// Some positions, each with its own vector, against a run of items: which item scores best at each, and the logarithm
// of the sum of all e^score.
//
// Scores are made tile by tile and thrown away; what is kept is the highest of every block of items. To find a
// position's best allowed item, the block that promises most is looked into again: if what was promised is taken or not
// allowed, the promise is lowered, and the next best block is asked. This is exact for any rules and any number of
// answers, and of equal scores the first item wins.
#pragma once
#include "workspace.h"

// Where vectors are more than a processor keeps near, reading them takes longer than the products. `halves` are those of
// the run of items again, rounded to 16 bits and 16 items side by side: (blocks of 16 items, width, 16), or null.
// Promises are made from these, higher by as much as they could be wrong, and kept from the whole ones.
struct ItemVectors {
    const float *weight, *bias;  // (items, width) and, unless it is null, (items)
    int64_t width;
    const uint16_t* halves = nullptr;
    float longest = 0;  // the length of the longest vector
};

class Contest {
   public:
    Contest(ItemVectors items, int64_t first, int64_t last, Strips columns, int64_t count, Workspace& room);

    int64_t tiles() const { return tiles_; }
    void play(int64_t tile);  // of several threads, each may play tiles of its own
    void settle();            // when all are played

    struct Best {
        int64_t item = -1;
        float score = MINUS_INFINITY;
    };

    // The best item for which allowed(item) holds; what is not allowed once must never be again. What was promised and
    // what is found are sums in another order, so they may differ in the last bit: then the block is asked once more.
    template <class Allowed>
    Best best(int64_t column, Allowed&& allowed) {
        float* promises = promises_ + column * blocks_;
        if (items_.halves && !exact_[column]) make_exact(column);
        Best found;
        for (int64_t looked_into = -1;;) {
            int64_t block = highest(promises);
            if (block < 0 || promises[block] == MINUS_INFINITY) return {};
            float promised = promises[block];
            if (block != looked_into) found = look_into(block, column, allowed);
            promises[block] = found.score;
            if (found.score >= promised) return {found.item, found.score - log_total_[column]};
            looked_into = block;
        }
    }

    // For who adds up the positions (tied.h): scores of up to W items from `item` on, and what to take off for their
    // logarithm of probability; no item of a block scores more than its promise.
    void scores(int64_t item, int64_t column, float* out) const;
    float log_total(int64_t column) const { return log_total_[column]; }
    const float* promises(int64_t column) const { return promises_ + column * blocks_; }
    int64_t blocks() const { return blocks_; }
    int64_t block() const { return block_; }  // items in each

   private:
    ItemVectors items_;
    int64_t first_, last_, count_;  // items from first to last, count positions
    Strips columns_;
    float* rows_;  // the same, one vector after the other
    int64_t block_, blocks_, tiles_;
    float *promises_, *tops_, *sums_, *log_total_;
    float* doubt_;  // by how much a score made from halves may be wrong, of each position
    bool* exact_;   // whether its sum has been put right

    template <int C>
    void play_strips(int64_t tile, int64_t strip);
    void play_few(int64_t tile);
    void play_halves(int64_t tile);
    void make_exact(int64_t column);
    int64_t highest(const float* promises) const;

    template <class Allowed>
    Best look_into(int64_t block, int64_t column, Allowed&& allowed) const {
        int64_t start = first_ + block * block_, end = start + block_ < last_ ? start + block_ : last_;
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
