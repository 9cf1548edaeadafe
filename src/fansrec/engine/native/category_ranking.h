// The categories of every position in descending order of probability.
#pragma once
#include <vector>

#include "head.h"

class CategoryRanking {
   public:
    CategoryRanking(const Head& head, Tiles hidden, int64_t columns, Workspace& workspace, const ThreadPool& pool);

    int64_t category(int64_t column, int64_t rank);
    float log_probability(int64_t column, int64_t category) const {
        return logits_.data ? logits_.at(category, column) - log_sum_[column] : 0.0f;
    }

   private:
    int64_t categories_;
    Tiles logits_{nullptr, 0};  // a row per category
    float* log_sum_ = nullptr;
    int32_t* best_ = nullptr;                  // (columns): the likeliest category
    std::vector<std::vector<int32_t>> order_;  // all categories; sorted for those columns only that need more than one

    void summarize(int64_t tile);
    void sort(int64_t column);
};
