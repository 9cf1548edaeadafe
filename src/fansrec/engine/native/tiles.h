// The memory layout of activations, tiles of W columns, and the allocator of their memory.
//
// A matrix with R rows (the width of a layer) and one column per token or masked position consists of
// ceil(columns / W) tiles. A tile holds W columns, one in each lane of a vector: R rows of W floats, row after row. So
// - a weight matrix is used as torch stores it, (outputs, inputs) in row-major order: each weight is broadcast to a
//   vector and multiplied with a row of a tile, and nothing has to be packed or copied when a model is loaded;
// - sums over the width of a layer (layer norm, softmax) are sums of whole vectors, never across lanes;
// - the sum of an output runs from the first input to the last, whatever the other columns of the tile hold.
#pragma once
#include <cstdlib>
#include <new>
#include <vector>

#include "simd.h"

struct Tiles {
    float* data;
    int64_t stride;  // floats from one tile to the next: W times the rows that are stored together

    float* tile(int64_t t) const { return data + t * stride; }
    Tiles rows_from(int64_t row) const { return {data + row * W, stride}; }
    float& at(int64_t row, int64_t column) const { return data[column / W * stride + row * W + column % W]; }
};

inline int64_t tiles_for(int64_t columns) { return (columns + W - 1) / W; }

// Copies column `column` of `from`, `rows` numbers, to column `at` of `to`.
inline void copy_column(Tiles from, int64_t column, Tiles to, int64_t at, int64_t rows) {
    const float* source = &from.at(0, column);
    float* target = &to.at(0, at);
    for (int64_t r = 0; r < rows; ++r) target[r * W] = source[r * W];
}

// Sets the unused lanes of the last tile to zero: old contents could be denormal (slow) or not numbers.
inline void clear_padding(Tiles tiles, int64_t columns, int64_t rows) {
    for (int64_t c = columns; c < tiles_for(columns) * W; ++c)
        for (int64_t r = 0; r < rows; ++r) tiles.at(r, c) = 0;
}

// A bump allocator for the temporary arrays of one batch. Its memory is kept between calls.
class Workspace {
   public:
    ~Workspace() {
        for (Slab& slab : slabs_) std::free(slab.memory);
    }

    template <class T>
    T* take(int64_t count) {
        if (count < 0 || count > INT64_MAX / int64_t(2 * sizeof(T))) throw std::bad_alloc();
        return static_cast<T*>(bytes(count * int64_t(sizeof(T))));
    }

    Tiles tiles(int64_t rows, int64_t columns) {
        return {take<float>(rows * tiles_for(columns) * W), rows * W};
    }

    // A position of the allocator; release_to(mark) frees everything taken since mark().
    struct Mark {
        size_t slab;
        int64_t used;
    };
    Mark mark() const { return {slab_, used_}; }
    void release_to(Mark mark) { slab_ = mark.slab, used_ = mark.used; }
    void clear() { slab_ = 0, used_ = 0; }

   private:
    struct Slab {
        void* memory;
        int64_t size;
    };
    std::vector<Slab> slabs_;
    size_t slab_ = 0;
    int64_t used_ = 0;

    void* bytes(int64_t size) {
        size = (size + 63) / 64 * 64;
        for (; slab_ < slabs_.size(); ++slab_, used_ = 0)
            if (used_ + size <= slabs_[slab_].size) return piece(size);
        int64_t capacity = size > (1 << 20) ? size : (1 << 20);
        void* memory = std::aligned_alloc(64, capacity);
        if (!memory) throw std::bad_alloc();
        slabs_.push_back({memory, capacity});
        slab_ = slabs_.size() - 1, used_ = 0;
        return piece(size);
    }

    void* piece(int64_t size) {
        char* start = static_cast<char*>(slabs_[slab_].memory) + used_;
        used_ += size;
        return start;
    }
};
