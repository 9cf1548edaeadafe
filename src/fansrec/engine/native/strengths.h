// What the memory and the linear part say about one list: a number for each of the few items they know something of.
#pragma once
#include <memory>
#include "linear_part.h"
#include "list_memory.h"

struct Voices {
    const ListMemory* memory;  // null: there is none
    const LinearPart* linear;  // null: there is none
    double memory_weight, linear_weight;
};

class Strengths {
   public:
    Strengths(const Voices& voices, int64_t items);

    // First, then its parts, which may have a thread each, then the end.
    void look_up(const int64_t* given, int64_t length);
    static constexpr int64_t PARTS = 2;
    void listen(int64_t part);
    void finish();

    int64_t count() const { return count_; }
    const int32_t* items() const { return items_.data(); }  // in order
    const float* scores() const { return scores_.data(); }  // of each

   private:
    const Voices& voices_;
    const int64_t* given_ = nullptr;
    int64_t length_ = 0;
    std::unique_ptr<Recaller> recaller_;
    Sums<float> held_;   // by the memory; it only adds up, so that it need not be fine
    Sums<double> said_;  // by the linear part; it may cancel out
    int64_t count_ = 0;
    std::vector<int32_t> items_;  // those found, and what was said about them
    std::vector<float> memory_, linear_, scores_;

    void bring(int64_t first);
    void add(const std::vector<float>& strengths, double weight);
};
