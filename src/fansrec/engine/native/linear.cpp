// Models that are sums of item-item weights (models/linear/), and popularity, which has none.
#include <algorithm>
#include <cmath>

#include "checked.h"
#include "scored_items.h"

namespace {

class LinearScores {
   public:
    LinearScores(const LinearModel& model, Workspace& workspace)
        : model_(model),
          count_(model.weights.vocabulary),
          sums_(workspace.take<double>(count_)),
          scores_(workspace.take<float>(count_)) {}

    int64_t count() const { return count_; }
    const float* scores() const { return scores_; }

    void compute(const int64_t* input, int64_t length) {
        std::fill(sums_, sums_ + count_, 0.0);
        for (int64_t position = 0; position < length; ++position)
            add_row(input[position], std::exp(double(position + 1 - length) / model_.weights.decay));
        for (int64_t item = 0; item < count_; ++item) scores_[item] = float(sums_[item]) + model_.base[item];
    }

   private:
    const LinearModel& model_;
    int64_t count_;
    double* sums_;  // float64: terms may cancel
    float* scores_;

    void add_row(int64_t from, double recency) {
        const LinearPart& part = model_.weights;
        CHECK_INDEX(from, part.vocabulary);
        const float* weights = part.weights + from * part.width;
        if (!part.items) {
            for (int64_t j = 0; j < part.width; ++j) sums_[j] += weights[j] * recency;
            return;
        }
        const int32_t* items = part.items + from * part.width;
        for (int64_t j = 0; j < part.width; ++j) {
            CHECK_INDEX(items[j], part.vocabulary);
            sums_[items[j]] += weights[j] * recency;
        }
    }
};

}  // namespace

void continue_linear(const Model& model, Batch& batch, bool steps, Workspace& workspace) {
    LinearScores scores(*model.linear, workspace);
    continue_scored(scores, batch, steps);
}
