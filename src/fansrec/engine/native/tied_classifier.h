// The classifier of the hybrid model (models/hybrid/classifier.py): the mean probability of every item over the
// positions that are read.
#pragma once
#include <memory>
#include <vector>

#include "block_top_k.h"
#include "encoder.h"

struct TiedClassifier {
    int64_t items, categories, read_categories, width;  // read_categories: those whose items are scored for a list
    const int64_t* starts;                              // category c is items starts[c] to starts[c + 1]
    Affine transform, transform_norm;  // null: hidden states are scored as they are
    Affine category;             // null: one softmax over all items
    Affine item;                 // the embeddings of the items, and their biases
    RoundedVectors rounded;
    const float* scale;          // factor of the vectors that are compared with them
    const float* prior;          // (items): the probability of an item inside its category
    const float* highest_prior;  // (categories)
};

// The mean softmax of several positions over the items of one category. The sums need the scores of all items; the
// probabilities of the few items that are requested are computed again.
class CategoryProbabilities {
   public:
    CategoryProbabilities(const TiedClassifier& tied, int64_t category, Tiles columns, std::vector<float> weights,
                          Workspace& workspace);

    int64_t chunks() const { return scores_.chunks(); }
    void score_chunk(int64_t chunk) { scores_.score_chunk(chunk); }
    void finish();

    float highest() const { return highest_; }  // an upper bound of all its probabilities
    float of(int64_t item) const;

    // Calls visit(item, probability) for all items whose probability is at least least(), which may rise meanwhile, and
    // possibly for others.
    template <class Least, class Visit>
    void visit(Least&& least, Visit&& visit) const {
        std::vector<float> highest = highest_of_blocks();
        for (int64_t b = 0, size = scores_.block_size(); b < scores_.blocks(); ++b) {
            if (highest[b] < least()) continue;
            int64_t start = first_ + b * size, end = start + size < last_ ? start + size : last_;
            for (int64_t item = start; item < end; item += W) {
                V probabilities = from(item);
                for (int64_t i = 0; i < W && item + i < end; ++i) visit(item + i, probabilities[i]);
            }
        }
    }

   private:
    ItemVectors items_;
    int64_t first_, last_;
    Tiles columns_;
    std::vector<float> weights_;  // of the positions
    float highest_ = 0;
    BlockTopK scores_;

    V from(int64_t item) const;
    std::vector<float> highest_of_blocks() const;
};

// The probabilities that the network gives the items for one list. In categories that are not read, the probability of
// the category is divided by the priors of its items. Columns have a weight each, given as 1 / weight: the number of
// columns, if all weigh the same.
class NetworkProbabilities {
   public:
    NetworkProbabilities(const TiedClassifier& tied, Tiles hidden, const std::vector<float>& inverse_weights,
                         Workspace& workspace);

    int64_t chunks() const { return int64_t(chunks_.size()); }
    void score_chunk(int64_t chunk) { chunks_[chunk].category->score_chunk(chunks_[chunk].chunk); }
    void finish();  // to be called when all chunks are scored, by any thread

    float of_category(int64_t category) const { return by_list_[category]; }
    const CategoryProbabilities* read(int64_t category) const { return read_[category].get(); }  // null: it is not read
    float highest(int64_t category) const {  // an upper bound of the probabilities of its items
        return read_[category] ? read_[category]->highest() : by_list_[category] * tied_.highest_prior[category];
    }
    float of_item(int64_t category, int64_t item) const {
        return read_[category] ? read_[category]->of(item) : by_list_[category] * tied_.prior[item];
    }

    void prefetch(int64_t category, int64_t item) const {  // what of_item reads
        if (!read_[category]) return __builtin_prefetch(tied_.prior + item);
        const float* vector = tied_.item.weight + item * tied_.width;
        for (int64_t d = 0; d < tied_.width; d += 16) __builtin_prefetch(vector + d);
    }

   private:
    struct Chunk {
        CategoryProbabilities* category;
        int64_t chunk;
    };
    const TiedClassifier& tied_;
    std::vector<float> by_list_;
    std::vector<std::unique_ptr<CategoryProbabilities>> read_;
    std::vector<Chunk> chunks_;

    Tiles transform(Tiles hidden, int64_t columns, Workspace& workspace) const;
    Tiles by_position(Tiles transformed, const std::vector<float>& inverse_weights, Workspace& workspace);
    std::vector<int64_t> likeliest() const;
};
