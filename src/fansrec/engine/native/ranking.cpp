#include "ranking.h"

#include <algorithm>
#include <cmath>
#include <numeric>


Ranking::Ranking(const Head& head, Strips known, int64_t columns, Workspace& room, const Crew& crew)
    : categories_(head.categories) {
    if (!head.category.weight) return;
    int64_t D = head.width, strips = strips_for(columns);
    order_.resize(columns);
    logits_ = room.strips(categories_, columns);
    log_total_ = room.take<float>(strips * W);
    first_ = room.take<int32_t>(strips * W);
    Strips transformed = room.strips(D, columns);
    Parts parts(strips, crew.threads);
    crew.run(parts.count, [&](int64_t part) {
        int64_t from = parts.first(part), to = parts.last(part);
        apply(head.transform, D, D, known, transformed, from, to, Then::GELU);
        normalise(transformed, D, from, to, head.transform_norm);
        apply(head.category, categories_, D, transformed, logits_, from, to);
        for (int64_t s = from; s < to; ++s) settle(s);
    });
}

void Ranking::settle(int64_t strip) {
    const float* logits = logits_.strip(strip);
    V best = load(logits), sum = {};
    VI which = {};
    for (int32_t c = 1; c < categories_; ++c) {
        V logit = load(logits + c * W);
        which = logit > best ? c - VI{} : which;  // of equals the first stays
        best = larger(best, logit);
    }
    for (int64_t c = 0; c < categories_; ++c) sum += exp(load(logits + c * W) - best);
    for (int l = 0; l < W; ++l) {
        log_total_[strip * W + l] = best[l] + std::log(sum[l]);
        first_[strip * W + l] = which[l];
    }
}

int64_t Ranking::category(int64_t column, int64_t rank) {
    if (!logits_.data) return 0;
    if (rank == 0) return first_[column];
    if (order_[column].empty()) sort(column);
    return order_[column][rank];
}

void Ranking::sort(int64_t column) {
    std::vector<int32_t>& order = order_[column];
    order.resize(categories_);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return logits_.at(a, column) > logits_.at(b, column); });
}
