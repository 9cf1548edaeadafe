#include "layers.h"

#include <cmath>

#include "product.h"

namespace {

V square_root(V x) {
    for (int i = 0; i < W; ++i) x[i] = std::sqrt(x[i]);
    return x;
}

}  // namespace

void apply(Affine layer, int64_t rows, int64_t depth, Tiles in, Tiles out, int64_t first, int64_t last,
           Epilogue epilogue) {
    auto store_as = [&](auto activation) {
        product(layer.weight, layer.bias, rows, depth, in, first, last,
                [&](int64_t row, int64_t t, V value) __attribute__((always_inline)) {
                    store(out.tile(t) + row * W, activation(value));
                });
    };
    switch (epilogue) {
        case Epilogue::STORE: return store_as([](V x) { return x; });
        case Epilogue::GELU: return store_as([](V x) { return gelu(x); });
        case Epilogue::RELU: return store_as([](V x) { return larger(x, V{}); });
        case Epilogue::ADD:
            product(layer.weight, layer.bias, rows, depth, in, first, last,
                    [&](int64_t row, int64_t t, V value) __attribute__((always_inline)) {
                        float* target = out.tile(t) + row * W;
                        store(target, load(target) + value);
                    });
    }
}

void normalize(Tiles x, int64_t rows, int64_t first, int64_t last, Affine norm) {
    constexpr float EPSILON = 1e-5f;  // the default of torch
    for (int64_t t = first; t < last; ++t) {
        float* tile = x.tile(t);
        V sums[4] = {};  // independent sums hide the latency of an addition
        for (int64_t r = 0; r < rows; ++r) sums[r % 4] += load(tile + r * W);
        V mean = (sums[0] + sums[1] + (sums[2] + sums[3])) / float(rows);
        V squares[4] = {};
        for (int64_t r = 0; r < rows; ++r) {
            V difference = load(tile + r * W) - mean;
            squares[r % 4] += difference * difference;
        }
        V variance = (squares[0] + squares[1] + (squares[2] + squares[3])) / float(rows);
        V scale = 1.0f / square_root(variance + EPSILON);
        for (int64_t r = 0; r < rows; ++r) {
            V value = (load(tile + r * W) - mean) * scale;
            store(tile + r * W, value * norm.weight[r] + norm.bias[r]);
        }
    }
}
