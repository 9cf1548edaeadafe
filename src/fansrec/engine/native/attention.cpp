#include "attention.h"

#include <cmath>

namespace {

inline const float* column(Strips of, uint64_t j) { return of.data + j / W * of.stride + j % W; }

inline V hidden_beyond(V score, int64_t key, int64_t sees) {
    if (key <= sees) return score;
    int32_t from = int32_t(key - sees < W ? key - sees : W);  // the first lane that sees this key
    return lanes() >= from ? score : all(MINUS_INFINITY);
}

// S strips of queries meet the keys of one head. Scores are made as logarithms of weights to the base 2, which is the
// faster one; they lie key after key, S vectors each.
template <int S>
class OneHead {
   public:
    OneHead(const Queries* asked, Keys list, int64_t head_width, float* scores)
        : asked_(asked), list_(list), width_(head_width), scores_(scores) {
        scale_ = LOG2_E / std::sqrt(float(head_width));
    }

    void attend(int64_t row) {
        in_runs([&](auto run, int64_t d) {
            constexpr int D = decltype(run)::value;
            score<D>(row + d, d == 0, d + D == width_);
        });
        in_runs([&](auto run, int64_t d) {
            if (d == 0)
                mix<decltype(run)::value, true>(row);
            else
                mix<decltype(run)::value, false>(row + d);
        });
    }

   private:
    const Queries* asked_;
    Keys list_;
    int64_t width_;
    float scale_;
    float* scores_;
    V best_[S], share_[S];

    // A head's numbers in runs of 8, 4 and 1, each with its own unrolled code.
    template <class Run>
    void in_runs(Run&& run) {
        int64_t d = 0;
        for (; d + 8 <= width_; d += 8) run(std::integral_constant<int, 8>(), d);
        for (; d + 4 <= width_; d += 4) run(std::integral_constant<int, 4>(), d);
        for (; d < width_; ++d) run(std::integral_constant<int, 1>(), d);
    }

    // Scores of all keys from D numbers, on top of what is there of those before.
    template <int D>
    void score(int64_t row, bool begin, bool end) {
        V q[S][D], best[S];
        for (int s = 0; s < S; ++s) {
            for (int d = 0; d < D; ++d) q[s][d] = load(asked_[s].query + (row + d) * W) * scale_;
            best[s] = all(MINUS_INFINITY);
        }
        float* place = scores_;
        for (int64_t j = list_.first; j < list_.last; ++j, place += S * W) {
            const float* key = column(list_.keys, j) + row * W;
            V score[S];
            for (int s = 0; s < S; ++s) score[s] = begin ? V{} : load(place + s * W);
#pragma GCC unroll 8
            for (int d = 0; d < D; ++d) {
                V number = all(key[d * W]);
                for (int s = 0; s < S; ++s) score[s] += q[s][d] * number;
            }
            for (int s = 0; s < S; ++s) {
                if (end) score[s] = hidden_beyond(score[s], j, asked_[s].sees);
                best[s] = larger(best[s], score[s]);
                store(place + s * W, score[s]);
            }
        }
        for (int s = 0; s < S; ++s) best_[s] = best[s];
    }

    // The mean of D numbers of the values. The first run turns the scores into weights on its way: between the
    // products, that costs hardly anything.
    template <int D, bool FIRST>
    void mix(int64_t row) {
        V sum[S][D] = {}, total[S] = {};
        float* place = scores_;
        for (int64_t j = list_.first; j < list_.last; ++j, place += S * W) {
            const float* value = column(list_.values, j) + row * W;
            V weight[S];
            for (int s = 0; s < S; ++s) {
                weight[s] = load(place + s * W);
                if (!FIRST) continue;
                weight[s] = power_of_2(weight[s] - best_[s]);
                total[s] += weight[s];
                if (D < width_) store(place + s * W, weight[s]);
            }
#pragma GCC unroll 8
            for (int d = 0; d < D; ++d) {
                V number = all(value[d * W]);
                for (int s = 0; s < S; ++s) sum[s][d] += weight[s] * number;
            }
        }
        for (int s = 0; s < S; ++s) {
            const Queries& a = asked_[s];
            if (FIRST) share_[s] = 1.0f / total[s];
            VI ask = (lanes() >= int32_t(a.first)) & (lanes() < int32_t(a.last));
            for (int d = 0; d < D; ++d) {
                float* out = a.out + (row + d) * W;
                store(out, ask ? sum[s][d] * share_[s] : load(out));
            }
        }
    }
};

}  // namespace

void attend(const Queries* asked, int count, Keys list, int64_t heads, int64_t head_width, float* scores) {
    for (int64_t row = 0; row < heads * head_width; row += head_width) {
        if (count == 1)
            OneHead<1>(asked, list, head_width, scores).attend(row);
        else if constexpr (QUERIES_AT_ONCE == 2)
            OneHead<2>(asked, list, head_width, scores).attend(row);
    }
}
