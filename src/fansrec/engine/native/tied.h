// The classifier of --recipe best (models/hybrid/classifier.py): the mean probability of every item over the positions asked.
#pragma once
#include <memory>
#include <vector>
#include "contest.h"
#include "encoder.h"

struct Tied {
    int64_t items, categories, asked, width;  // asked: categories looked into for a list
    const int64_t* starts;                    // category c is items starts[c] to starts[c + 1]
    Linear transform;
    Norm transform_norm;
    Linear category;           // null: one softmax over all items
    ItemVectors item;          // the vectors items are read with
    const float* scale;        // of what is compared with them
    const float* prior;        // (items): of an item inside its category
    const float* most_likely;  // (categories): the highest prior of each
};

// The mean of several positions' softmax over the items of one category. All items are met to know the sums; what a
// single one has is made again when it is asked for, since that is so for few.
class Mixture {
   public:
    Mixture(const Tied& tied, int64_t category, Strips columns, std::vector<float> weights, Workspace& room);

    int64_t tiles() const { return contest_.tiles(); }
    void play(int64_t tile) { contest_.play(tile); }
    void settle();

    float highest() const { return highest_; }  // no item has more
    float of(int64_t item) const;

    // visit(item, probability) for all items that have at least least(), which may rise meanwhile, and maybe others.
    template <class Least, class Visit>
    void visit(Least&& least, Visit&& visit) const {
        std::vector<float> most = highest_of_blocks();
        for (int64_t b = 0, size = contest_.block(); b < contest_.blocks(); ++b) {
            if (most[b] < least()) continue;
            int64_t start = first_ + b * size, end = start + size < last_ ? start + size : last_;
            for (int64_t item = start; item < end; item += W) {
                V some = from(item);
                for (int64_t i = 0; i < W && item + i < end; ++i) visit(item + i, some[i]);
            }
        }
    }

   private:
    ItemVectors items_;
    int64_t first_, last_;
    Strips columns_;
    std::vector<float> weights_;  // of the positions
    float highest_ = 0;
    Contest contest_;

    V from(int64_t item) const;  // it and those behind it
    std::vector<float> highest_of_blocks() const;
};

// What the network says about one list. The items of categories that were not looked into share what their category
// has, by their priors.
class Probabilities {
   public:
    Probabilities(const Tied& tied, Strips known, int64_t columns, Workspace& room);

    int64_t tiles() const { return int64_t(tiles_.size()); }
    void play(int64_t tile) { tiles_[tile].mixture->play(tiles_[tile].tile); }
    void settle();  // when all tiles have been played, by whomever

    float of(int64_t category) const { return by_list_[category]; }
    const Mixture* inside(int64_t category) const { return inside_[category].get(); }  // null: not looked into
    float highest(int64_t category) const {                                           // no item of it has more
        return inside_[category] ? inside_[category]->highest() : by_list_[category] * tied_.most_likely[category];
    }
    float of_item(int64_t category, int64_t item) const {
        return inside_[category] ? inside_[category]->of(item) : by_list_[category] * tied_.prior[item];
    }

   private:
    struct Tile {
        Mixture* mixture;
        int64_t tile;
    };
    const Tied& tied_;
    std::vector<float> by_list_;
    std::vector<std::unique_ptr<Mixture>> inside_;
    std::vector<Tile> tiles_;

    Strips by_position(Strips transformed, int64_t columns, Workspace& room);
    std::vector<int64_t> likeliest() const;
};
