// What stands in the training lists most like the input: the lookup of models/hybrid/list_memory.py.
#pragma once
#include "sums.h"

// The arrays of the model where they lie, and its kernel.
struct ListMemory {
    const int32_t *items, *places;       // list after list: what it holds, and where in it
    const int64_t* starts;               // (lists + 1)
    const int32_t *lists, *list_places;  // item after item: the lists that hold it, and where in them
    const int64_t* list_starts;          // (items + 1)
    int64_t known, longest;              // lists, and the highest place in any
    int64_t vocabulary, members;         // items, and the length of the arrays of int32
    double sharpness, recency, before, near, aligned;
    int64_t neighbours;
};

class Recaller {
   public:
    explicit Recaller(const ListMemory& memory);

    void look_up(const int64_t* given, int64_t length);  // the lists like it
    void hold(Sums<float>& held) const;                  // adds what they hold

   private:
    struct Neighbour {
        double like;
        int32_t list, last_shared;
    };

    const ListMemory& m_;
    Runs found_;
    std::vector<int64_t> runs_;         // the first list of every run found
    std::vector<double> like_;          // of every list; finer than what is held, since it decides who is a neighbour
    std::vector<double> shortness_;     // of every list
    std::vector<uint8_t> whole_;        // whether a list holds no item twice, so that places need not be read
    std::vector<int32_t> last_shared_;  // of the lists found: where its last item stands that the input has too
    std::vector<float> worth_;          // of an item by its distance from that one, from -longest to longest
    std::vector<double> aligned_;       // of a shared item by how far apart it stands in both
    std::vector<double> sample_;
    std::vector<Neighbour> neighbours_;

    void compare(const int64_t* given, int64_t length);
    void choose();
    double border();
    void compared(int64_t first, double* out) const;
    void collect(double floor);
    void fetch(size_t neighbour) const;
};
