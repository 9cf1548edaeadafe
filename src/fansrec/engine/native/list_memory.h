// The list memory of the hybrid model (models/neighbors/list_votes.py): the training lists most similar to the input,
// its neighbors, vote for the items that they hold.
#pragma once
#include "sparse_sums.h"

// The arrays of the model, under its own names, and its settings.
struct ListMemory {
    const int32_t *items, *places;       // list after list: the items, and their positions in the list
    const int64_t* starts;               // (lists + 1)
    const int32_t *lists, *list_places;  // item after item: the lists that hold it, and its positions in them
    const int64_t* list_starts;          // (items + 1)
    int64_t known, longest;              // number of lists, and the highest position in any of them
    int64_t vocabulary, members;         // number of items, and length of the int32 arrays
    double sharpness, recency, before, near, aligned, newer;
    int64_t neighbors;
};

class NeighborSearch {
   public:
    explicit NeighborSearch(const ListMemory& memory);

    void search(const int64_t* input, int64_t length);  // finds the neighbors of the input
    void vote(SparseSums<float>& votes) const;          // adds their votes

   private:
    struct Neighbor {
        double similarity;
        int32_t list, last_shared;
    };

    const ListMemory& m_;
    Runs found_;
    std::vector<int64_t> runs_;          // the first list of every run with a list that shares an item
    std::vector<double> similarity_;     // of every list, before list_factor_; float64, as it selects the neighbors
    std::vector<double> list_factor_;    // of the similarity of every list, by its length and its age
    std::vector<uint8_t> distinct_;      // whether a list holds no item twice, so that positions need not be read
    std::vector<int32_t> last_shared_;   // of the lists found: position of the last item shared with the input
    std::vector<float> position_weight_;  // of an item by its distance from last_shared, from -longest to longest
    std::vector<double> alignment_;       // weight of a shared item by the distance between its two positions
    std::vector<double> sample_;
    std::vector<Neighbor> neighbors_;
    int64_t most_ = 0;  // neighbors of the input
    double power_ = 1;  // of the similarity

    void add_similarities(const int64_t* input, int64_t length);
    void select_neighbors();
    double estimate_threshold();
    void normalize_run(int64_t first, double* out) const;
    void collect_above(double floor);
    void prefetch(size_t neighbor) const;
    void prefetch_lists(int64_t item) const;
    template <class Mark>
    void add_votes(const Neighbor& neighbor, float weight, float* values, Mark&& mark) const;
};
