// The categories of every position, the likeliest first.
#pragma once
#include <vector>
#include "head.h"

class Ranking {
   public:
    Ranking(const Head& head, Strips known, int64_t columns, Workspace& room, const Crew& crew);

    int64_t category(int64_t column, int64_t rank);
    float log_probability(int64_t column, int64_t category) const {
        return logits_.data ? logits_.at(category, column) - log_total_[column] : 0.0f;
    }

   private:
    int64_t categories_;
    Strips logits_{nullptr, 0};  // a row for every category
    float* log_total_ = nullptr;
    int32_t* first_ = nullptr;                 // the likeliest of each column
    std::vector<std::vector<int32_t>> order_;  // of the columns that were asked for more

    void settle(int64_t strip);
    void sort(int64_t column);
};
