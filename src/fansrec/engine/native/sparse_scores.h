// The scores that list memory and linear part give to items for one list; most items have none.
#pragma once
#include <memory>

#include "list_memory.h"

// The linear part (models/hybrid/model.py): sums of a few rows of item-item weights.
struct LinearPart {
    const int32_t* items;       // (items, width): the items that the weights of a row belong to
    const float* weights;       // (items, width): 0 where a row has fewer weights
    int64_t width, vocabulary;  // weights per row, and number of items
    double decay;
};

struct SparseParts {
    const ListMemory* memory;  // null: the model has none
    const LinearPart* linear;  // null: the model has none
    double memory_weight, linear_weight;
};

class SparseScores {
   public:
    SparseScores(const SparseParts& parts, int64_t items);

    // To be called in this order; add_linear may run at the same time as the two steps before it.
    void start(const int64_t* input, int64_t length) { input_ = input, length_ = length; }
    void find_neighbors();
    void add_votes();
    void add_linear();
    void finish();

    int64_t count() const { return count_; }
    const int32_t* items() const { return items_.data(); }  // in ascending order
    const float* scores() const { return scores_.data(); }

   private:
    const SparseParts& parts_;
    const int64_t* input_ = nullptr;
    int64_t length_ = 0;
    std::unique_ptr<NeighborSearch> neighbors_;
    SparseSums<float> votes_;         // of the list memory: sums of positive numbers, for which float32 suffices
    SparseSums<double> linear_sums_;  // of the linear part: terms may cancel
    int64_t count_ = 0;
    std::vector<int32_t> items_;                   // the items with a score, and their numbers:
    std::vector<float> memory_, linear_, scores_;  // votes, linear sums, weighted sum of their logarithms

    template <bool MEMORY, bool LINEAR>
    void collect();
    void add_log_scores(const std::vector<float>& values, double weight);
};
