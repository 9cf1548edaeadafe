// Memory for one answer, taken piece by piece and given back all at once; kept between calls.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <vector>
#include "strips.h"

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

    Strips strips(int64_t rows, int64_t columns) {
        return {take<float>(rows * strips_for(columns) * W), rows * W};
    }

    // Where it stands, and back to there: what was taken in between may be taken again.
    struct Mark {
        size_t slab;
        int64_t used;
    };
    Mark mark() const { return {slab_, used_}; }
    void back_to(Mark mark) { slab_ = mark.slab, used_ = mark.used; }
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
        int64_t room = size > (1 << 20) ? size : (1 << 20);
        void* memory = std::aligned_alloc(64, room);
        if (!memory) throw std::bad_alloc();
        slabs_.push_back({memory, room});
        slab_ = slabs_.size() - 1, used_ = 0;
        return piece(size);
    }

    void* piece(int64_t size) {
        char* start = static_cast<char*>(slabs_[slab_].memory) + used_;
        used_ += size;
        return start;
    }
};
