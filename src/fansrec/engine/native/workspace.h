// A bump allocator for the temporary arrays of one batch. Its memory is kept between calls.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>
#include "tiles.h"

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
