#include "linear_part.h"

#include <cmath>

#include "checked.h"

void ask(const LinearPart& linear, const int64_t* given, int64_t length, Sums<double>& said) {
    double* of = said.of.data();
    uint8_t* runs = said.runs.touched();
    for (int64_t place = 0; place < length; ++place) {
        double recency = std::exp(double(place + 1 - length) / linear.decay);
        const int32_t* items = linear.items + given[place] * linear.width;
        const float* weights = linear.weights + given[place] * linear.width;
        for (int64_t j = 0; j < linear.width; ++j) {
            uint32_t item = uint32_t(items[j]);
            CHECK_INDEX(items[j], linear.vocabulary);
            of[item] += weights[j] * recency;
            runs[item / RUN] = 1;
        }
    }
}
