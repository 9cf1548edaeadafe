// V-STAN (models/neighbors/vstan.py): the training lists most similar to the input vote for their items.
#include <algorithm>
#include <cmath>

#include "checked.h"
#include "scored_items.h"

namespace {

constexpr double SMALLEST = 1e-30;  // divisors are not smaller, so that no quotient overflows

double decay(int64_t distance, double scale) {
    return scale > 0 ? std::exp(-double(distance) / std::max(scale, SMALLEST)) : 1.0;
}

class VstanScores {
   public:
    VstanScores(const Vstan& model, Workspace& workspace)
        : model_(model),
          m_(model.memory),
          similarity_(workspace.take<double>(m_.known)),
          votes_(workspace.take<double>(m_.vocabulary)),
          scores_(workspace.take<float>(m_.vocabulary)),
          last_shared_(workspace.take<int32_t>(m_.known)),
          shared_age_(workspace.take<int64_t>(m_.known)) {
        std::fill(similarity_, similarity_ + m_.known, 0.0);
        std::fill(last_shared_, last_shared_ + m_.known, -1);
        for (int64_t distance = 0; distance <= m_.longest; ++distance)
            position_weight_.push_back(decay(distance, model.item_decay));
    }

    int64_t count() const { return m_.vocabulary; }
    const float* scores() const { return scores_; }

    void compute(const int64_t* input, int64_t length) {
        compare(input, length);
        select_neighbors();
        std::fill(votes_, votes_ + m_.vocabulary, 0.0);
        for (int64_t list : found_) vote(list);
        double highest = SMALLEST;
        for (int64_t item = 0; item < m_.vocabulary; ++item)
            highest = std::max(highest, votes_[item] *= model_.item_factors[item]);
        for (int64_t item = 0; item < m_.vocabulary; ++item)
            scores_[item] = float(votes_[item] / highest) + model_.base[item];
    }

   private:
    const Vstan& model_;
    const ListMemory& m_;
    double* similarity_;  // of every list; 0 between two inputs
    double* votes_;
    float* scores_;
    int32_t* last_shared_;  // the last position with an item of the input; -1 in lists without one
    int64_t* shared_age_;   // of the lists found: the age of the last input item in them
    std::vector<double> position_weight_;  // by distance from the last shared position
    std::vector<int64_t> found_;

    // Adds up the similarities of all lists that share an item with the input; a repeated item counts at its last
    // position.
    void compare(const int64_t* input, int64_t length) {
        found_.clear();
        for (int64_t i = 0; i < length; ++i) {
            if (std::find(input + i + 1, input + length, input[i]) != input + length) continue;
            int64_t age = length - 1 - i;
            double weight = decay(age, model_.input_decay);
            CHECK_INDEX(input[i], m_.vocabulary);
            for (int64_t at = m_.list_starts[input[i]]; at < m_.list_starts[input[i] + 1]; ++at) {
                int64_t list = m_.lists[at];
                CHECK_INDEX(list, m_.known);
                if (last_shared_[list] < 0) found_.push_back(list);
                similarity_[list] += weight;
                last_shared_[list] = std::max(last_shared_[list], m_.list_places[at]);
                shared_age_[list] = age;
            }
        }
    }

    // Keeps the newest lists, if there is a sample, and of these the most similar; ties go to the newest.
    void select_neighbors() {
        for (int64_t list : found_) similarity_[list] *= model_.list_factors[list];
        keep(std::partition(found_.begin(), found_.end(), [&](int64_t list) { return similarity_[list] > 0; }));
        keep_first(model_.sample_size ? model_.sample_size : m_.known, [](int64_t a, int64_t b) { return a > b; });
        keep_first(m_.neighbors, [&](int64_t a, int64_t b) {
            return similarity_[a] != similarity_[b] ? similarity_[a] > similarity_[b] : a > b;
        });
    }

    template <class Before>
    void keep_first(int64_t count, Before&& before) {
        if (count >= int64_t(found_.size())) return;
        std::nth_element(found_.begin(), found_.begin() + count, found_.end(), before);
        keep(found_.begin() + count);
    }

    // Drops the lists from `end` on.
    void keep(std::vector<int64_t>::iterator end) {
        std::for_each(end, found_.end(), [&](int64_t list) { reset(list); });
        found_.erase(end, found_.end());
    }

    void reset(int64_t list) { similarity_[list] = 0, last_shared_[list] = -1; }

    void vote(int64_t list) {
        double weight = similarity_[list] * decay(shared_age_[list], model_.shared_decay);
        for (int64_t at = m_.starts[list]; at < m_.starts[list + 1]; ++at) {
            int64_t distance = std::abs(int64_t(m_.places[at]) - last_shared_[list]);
            CHECK_INDEX(m_.items[at], m_.vocabulary);
            CHECK_INDEX(distance, m_.longest + 1);
            votes_[m_.items[at]] += weight * position_weight_[distance];
        }
        reset(list);
    }
};

}  // namespace

void continue_vstan(const Model& model, Batch& batch, bool steps, Workspace& workspace) {
    VstanScores scores(*model.vstan, workspace);
    continue_scored(scores, batch, steps);
}
