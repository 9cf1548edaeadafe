#include "linear_part.h"

#include <cmath>

#include "checked.h"

void add_linear_scores(const LinearPart& linear, const int64_t* input, int64_t length, SparseSums<double>& sums) {
    double* values = sums.values.data();
    uint8_t* runs = sums.runs.touched();
    for (int64_t position = 0; position < length; ++position) {
        double recency = std::exp(double(position + 1 - length) / linear.decay);
        const int32_t* items = linear.items + input[position] * linear.width;
        const float* weights = linear.weights + input[position] * linear.width;
        for (int64_t j = 0; j < linear.width; ++j) {
            uint32_t item = uint32_t(items[j]);
            CHECK_INDEX(items[j], linear.vocabulary);
            values[item] += weights[j] * recency;
            runs[item / RUN] = 1;
        }
    }
}
