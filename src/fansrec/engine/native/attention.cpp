#include "attention.h"

#include <algorithm>
#include <cmath>

namespace {

inline const float* column(Tiles tiles, uint64_t j) { return tiles.data + j / W * tiles.stride + j % W; }

inline V mask_future(V score, int64_t key, const Queries& queries) {
    if (key <= queries.last_key) return score;
    int32_t from = int32_t(std::min<int64_t>(key - queries.last_key, queries.sees_all));  // the first lane that sees it
    return lanes() >= from ? score : all(MINUS_INFINITY);
}

// The attention of S tiles of queries in one head. Scores are base-2 logarithms of the weights, since powers of 2 are
// faster; they are stored key after key, S vectors each.
template <int S>
class OneHead {
   public:
    OneHead(const Queries* queries, Keys list, int64_t head_width, float* scores)
        : queries_(queries), list_(list), width_(head_width), scores_(scores) {
        scale_ = LOG2_E / std::sqrt(float(head_width));
    }

    void attend(int64_t row) {
        for_each_run([&](auto run, int64_t d) {
            constexpr int D = decltype(run)::value;
            score<D>(row + d, d == 0, d + D == width_);
        });
        for_each_run([&](auto run, int64_t d) {
            if (d == 0)
                average<decltype(run)::value, true>(row);
            else
                average<decltype(run)::value, false>(row + d);
        });
    }

   private:
    const Queries* queries_;
    Keys list_;
    int64_t width_;
    float scale_;
    float* scores_;
    V max_[S], inverse_sum_[S];

    // Divides the dimensions of a head into runs of 8, 4 and 1, each with its own unrolled code.
    template <class Run>
    void for_each_run(Run&& run) {
        int64_t d = 0;
        for (; d + 8 <= width_; d += 8) run(std::integral_constant<int, 8>(), d);
        for (; d + 4 <= width_; d += 4) run(std::integral_constant<int, 4>(), d);
        for (; d < width_; ++d) run(std::integral_constant<int, 1>(), d);
    }

    // Adds the products of D dimensions to the scores of all keys; `begin` and `end`: of the first and the last run.
    template <int D>
    void score(int64_t row, bool begin, bool end) {
        V q[S][D], highest[S];
        for (int s = 0; s < S; ++s) {
            for (int d = 0; d < D; ++d) q[s][d] = load(queries_[s].query + (row + d) * W) * scale_;
            highest[s] = all(MINUS_INFINITY);
        }
        float* at = scores_;
        for (int64_t j = list_.first; j < list_.last; ++j, at += S * W) {
            const float* key = column(list_.keys, j) + row * W;
            V score[S];
            for (int s = 0; s < S; ++s) score[s] = begin ? V{} : load(at + s * W);
#pragma GCC unroll 8
            for (int d = 0; d < D; ++d) {
                V key_d = all(key[d * W]);
                for (int s = 0; s < S; ++s) score[s] += q[s][d] * key_d;
            }
            for (int s = 0; s < S; ++s) {
                if (end) score[s] = mask_future(score[s], j, queries_[s]);
                highest[s] = larger(highest[s], score[s]);
                store(at + s * W, score[s]);
            }
        }
        for (int s = 0; s < S; ++s) max_[s] = highest[s];
    }

    // Computes D dimensions of the weighted mean of the values. The first run also turns the scores into weights:
    // between the products, that costs hardly anything.
    template <int D, bool FIRST>
    void average(int64_t row) {
        V sum[S][D] = {}, total[S] = {};
        float* at = scores_;
        for (int64_t j = list_.first; j < list_.last; ++j, at += S * W) {
            const float* value = column(list_.values, j) + row * W;
            V weight[S];
            for (int s = 0; s < S; ++s) {
                weight[s] = load(at + s * W);
                if (!FIRST) continue;
                weight[s] = power_of_2(weight[s] - max_[s]);
                total[s] += weight[s];
                if (D < width_) store(at + s * W, weight[s]);
            }
#pragma GCC unroll 8
            for (int d = 0; d < D; ++d) {
                V value_d = all(value[d * W]);
                for (int s = 0; s < S; ++s) sum[s][d] += weight[s] * value_d;
            }
        }
        for (int s = 0; s < S; ++s) {
            const Queries& q = queries_[s];
            if (FIRST) inverse_sum_[s] = 1.0f / total[s];
            VI used = (lanes() >= int32_t(q.first)) & (lanes() < int32_t(q.last));
            for (int d = 0; d < D; ++d) {
                float* out = q.out + (row + d) * W;
                store(out, used ? sum[s][d] * inverse_sum_[s] : load(out));
            }
        }
    }
};

}  // namespace

void attend(const Queries* queries, int count, Keys list, int64_t heads, int64_t head_width, float* scores) {
    for (int64_t row = 0; row < heads * head_width; row += head_width) {
        if (count == 1)
            OneHead<1>(queries, list, head_width, scores).attend(row);
        else if constexpr (QUERY_TILES == 2)
            OneHead<2>(queries, list, head_width, scores).attend(row);
    }
}
