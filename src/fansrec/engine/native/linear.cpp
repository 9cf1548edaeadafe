#include "linear.h"

#include "product.h"

void apply(Linear layer, int64_t rows, int64_t depth, Tiles in, Tiles out, int64_t first, int64_t last,
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
