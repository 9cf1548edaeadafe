#include "linear.h"

#include "product.h"

void apply(Linear layer, int64_t rows, int64_t depth, Strips in, Strips out, int64_t first, int64_t last, Then then) {
    auto through = [&](auto finish) {
        product_into(out, layer.weight, layer.bias, rows, depth, in, first, last, finish);
    };
    switch (then) {
        case Then::STORE: return through(AsItIs());
        case Then::GELU: return through(Gelu());
        case Then::RELU: return through(Relu());
        case Then::ADD:
            product(layer.weight, layer.bias, rows, depth, in, first, last,
                    [&](int64_t row, int64_t s, V value) __attribute__((always_inline)) {
                        float* place = out.strip(s) + row * W;
                        store(place, load(place) + value);
                    });
    }
}
