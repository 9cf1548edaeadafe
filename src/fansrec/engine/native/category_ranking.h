// The categories of every position in descending order of probability.
#pragma once
#include <algorithm>
#include <cmath>
#include <numeric>

#include "head.h"

class CategoryRanking {
   public:
    CategoryRanking(const Head& head, Tiles hidden, int64_t columns, Workspace& workspace, const ThreadPool& pool)
        : categories_(head.categories) {
        if (!head.category.weight) return;
        int64_t D = head.width, tiles = tiles_for(columns);
        order_.resize(columns);
        logits_ = workspace.tiles(categories_, columns);
        log_sum_ = workspace.take<float>(tiles * W);
        best_ = workspace.take<int32_t>(tiles * W);
        Tiles transformed = workspace.tiles(D, columns);
        Partition parts(tiles, pool.threads);
        pool.run(parts.count, [&](int64_t part) {
            int64_t from = parts.first(part), to = parts.last(part);
            apply(head.transform, D, D, hidden, transformed, from, to, Epilogue::GELU);
            normalize(transformed, D, from, to, head.transform_norm);
            apply(head.category, categories_, D, transformed, logits_, from, to);
            for (int64_t t = from; t < to; ++t) summarize(t);
        });
    }

    int64_t category(int64_t column, int64_t rank) {
        if (!logits_.data) return 0;
        if (rank == 0) return best_[column];
        if (order_[column].empty()) sort(column);
        return order_[column][rank];
    }

    float log_probability(int64_t column, int64_t category) const {
        return logits_.data ? logits_.at(category, column) - log_sum_[column] : 0.0f;
    }

   private:
    int64_t categories_;
    Tiles logits_{nullptr, 0};  // a row per category
    float* log_sum_ = nullptr;
    int32_t* best_ = nullptr;                  // (columns): the likeliest category
    std::vector<std::vector<int32_t>> order_;  // all categories; sorted for those columns only that need more than one

    // Finds the likeliest category of the columns of a tile and the logarithms of their sums of exponentials.
    void summarize(int64_t tile) {
        const float* logits = logits_.tile(tile);
        V best = load(logits), sum = {};
        VI which = {};
        for (int32_t c = 1; c < categories_; ++c) {
            V logit = load(logits + c * W);
            which = logit > best ? c - VI{} : which;  // of equal ones, the first
            best = larger(best, logit);
        }
        for (int64_t c = 0; c < categories_; ++c) sum += exp(load(logits + c * W) - best);
        for (int l = 0; l < W; ++l) {
            log_sum_[tile * W + l] = best[l] + std::log(sum[l]);
            best_[tile * W + l] = which[l];
        }
    }

    void sort(int64_t column) {
        std::vector<int32_t>& order = order_[column];
        order.resize(categories_);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](int32_t a, int32_t b) { return logits_.at(a, column) > logits_.at(b, column); });
    }
};
