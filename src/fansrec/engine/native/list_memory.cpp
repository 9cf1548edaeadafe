#include "list_memory.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "checked.h"

namespace {

constexpr double REACH = 15.0, ALIGNED_REACH = 2.0, MIN_RARITY = 0.05;  // as in models/neighbors/list_votes.py
constexpr int64_t FEW_ITEMS = 5;
constexpr int64_t MAX_LISTS_OF_ITEM = 2000;  // the newest ones; older lists that hold the item are ignored
constexpr int64_t SAMPLE_EVERY = 32;  // the threshold is estimated from every 32nd run

// Returns x^power; for small whole powers, the usual ones, without the slow general function.
double raised(double x, double power) {
    if (!(power <= 8) || power != std::floor(power)) return std::pow(x, power);
    double product = 1;
    for (int i = 0; i < int(power); ++i) product *= x;
    return product;
}

}  // namespace

NeighborSearch::NeighborSearch(const ListMemory& memory)
    : m_(memory), found_(memory.known), similarity_(found_.size()), list_factor_(found_.size()),
      distinct_(found_.size()), last_shared_(found_.size()) {
    for (int64_t i = 0; i < m_.known; ++i) {
        int64_t length = m_.starts[i + 1] - m_.starts[i];
        double age = double(m_.known - 1 - i) / double(m_.known);
        list_factor_[i] = 1 / std::sqrt(double(std::max<int64_t>(1, length))) * std::exp(-m_.newer * age);
        distinct_[i] = length == 0 || m_.places[m_.starts[i + 1] - 1] == length - 1;
    }
    for (int64_t d = -m_.longest; d <= m_.longest; ++d)
        position_weight_.push_back(
            float((d < 0 ? m_.before : 1.0) * (1 + m_.near * std::exp(-std::abs(double(d)) / REACH))));
}

void NeighborSearch::search(const int64_t* input, int64_t length) {
    int64_t few = std::min(std::max<int64_t>(1, length), FEW_ITEMS);
    most_ = std::min(m_.neighbors, m_.known) * ((FEW_ITEMS + few - 1) / few);
    power_ = length > 1 ? m_.sharpness : 1;
    add_similarities(input, length);
    select_neighbors();
}

// Prefetches the first lists that hold an item. Always inlined: GCC removes calls of a function that only prefetches,
// since it has no result.
inline __attribute__((always_inline)) void NeighborSearch::prefetch_lists(int64_t item) const {
    int64_t end = m_.list_starts[item + 1], first = std::max(m_.list_starts[item], end - MAX_LISTS_OF_ITEM);
    for (int64_t j = first; j < std::min(end, first + 64); j += 16) {  // 16 numbers fill a cache line
        __builtin_prefetch(m_.lists + j);
        __builtin_prefetch(m_.list_places + j);
    }
}

// Adds up the similarity of every list. The oldest item comes first, so that the newest one sets last_shared_; an item
// that occurs several times counts at its last position.
void NeighborSearch::add_similarities(const int64_t* input, int64_t length) {
    double* similarity = similarity_.data();
    int32_t* last_shared = last_shared_.data();
    uint8_t* found = found_.touched();
    while (int64_t(alignment_.size()) <= std::max(m_.longest, length))
        alignment_.push_back(1 + m_.aligned * std::exp(-double(alignment_.size()) / ALIGNED_REACH));
    for (int64_t i = 0; i < length; ++i) __builtin_prefetch(m_.list_starts + input[i]);
    for (int64_t position = 0; position < length; ++position) {
        if (position + 1 < length) prefetch_lists(input[position + 1]);
        int64_t item = input[position], end = m_.list_starts[item + 1], holders = end - m_.list_starts[item];
        if (std::find(input + position + 1, input + length, item) != input + length) continue;
        double rarity = std::max(std::log(double(m_.known) / double(std::max<int64_t>(holders, 1))), MIN_RARITY);
        double weight = rarity * (1 - m_.recency * double(length - 1 - position) / double(length));
        int64_t count = std::min(holders, MAX_LISTS_OF_ITEM);
        const int32_t *lists = m_.lists + end - count, *positions = m_.list_places + end - count;
        for (int64_t j = 0; j < count; ++j) {
            uint32_t list = uint32_t(lists[j]);
            int32_t at = positions[j];
            CHECK_INDEX(lists[j], m_.known);
            CHECK_INDEX(at, m_.longest + 1);
            similarity[list] += m_.aligned == 0 ? weight : weight * alignment_[std::abs(position - at)];
            last_shared[list] = at;
            found[list / RUN] = 1;
        }
    }
}

// Keeps the most similar lists, at most `most_` of them; of equally similar ones the newest.
void NeighborSearch::select_neighbors() {
    runs_.clear();
    found_.drain([&](int64_t first) { runs_.push_back(first); });
    collect_above(estimate_threshold());
    if (int64_t(neighbors_.size()) < most_) collect_above(0);
    for (int64_t first : runs_) std::memset(&similarity_[first], 0, RUN * sizeof(double));
    if (int64_t(neighbors_.size()) <= most_) return;
    std::nth_element(neighbors_.begin(), neighbors_.begin() + most_, neighbors_.end(),
                     [](const Neighbor& a, const Neighbor& b) {
                         return a.similarity != b.similarity ? a.similarity > b.similarity : a.list > b.list;
                     });
    neighbors_.resize(most_);
}

// Writes the similarities of a run of lists, normalized by their lengths and weighted by their ages.
inline void NeighborSearch::normalize_run(int64_t first, double* out) const {
    const double* __restrict similarity = &similarity_[first];
    const double* __restrict list_factor = &list_factor_[first];
    for (int64_t i = 0; i < RUN; ++i) out[i] = similarity[i] * list_factor[i];
}

// Estimates a similarity slightly below that of the last neighbor from a sample; 0 if the sample is too small.
double NeighborSearch::estimate_threshold() {
    sample_.clear();
    for (size_t r = 0; r < runs_.size(); r += SAMPLE_EVERY) {
        sample_.resize(sample_.size() + RUN);
        normalize_run(runs_[r], &sample_[sample_.size() - RUN]);
    }
    for (double& similarity : sample_)
        if (similarity != similarity) similarity = 0;  // NaN cannot be sorted
    int64_t expected = most_ / SAMPLE_EVERY, nth = expected + 3 * int64_t(std::sqrt(double(expected)) + 1);
    if (nth >= int64_t(sample_.size())) return 0;
    std::nth_element(sample_.begin(), sample_.begin() + nth, sample_.end(), std::greater<double>());
    return sample_[nth];
}

void NeighborSearch::collect_above(double floor) {
    constexpr size_t SOON = 8;
    neighbors_.clear();
    double run[RUN];
    for (size_t r = 0; r < runs_.size(); ++r) {
        int64_t first = runs_[r];
        if (r + SOON < runs_.size())
            for (int64_t i = 0; i < RUN; i += 8) __builtin_prefetch(&list_factor_[runs_[r + SOON] + i]);
        normalize_run(first, run);
        for (unsigned bits = above(run, floor); bits; bits &= bits - 1) {
            int i = __builtin_ctz(bits);
            neighbors_.push_back({run[i], int32_t(first + i), last_shared_[first + i]});
        }
    }
}

// Prefetches the lists of later neighbors, which are scattered over a large memory.
inline __attribute__((always_inline)) void NeighborSearch::prefetch(size_t neighbor) const {
    constexpr size_t SOON = 16, LATER = 40;
    if (neighbor + LATER < neighbors_.size()) __builtin_prefetch(m_.starts + neighbors_[neighbor + LATER].list);
    if (neighbor + SOON >= neighbors_.size()) return;
    int64_t list = neighbors_[neighbor + SOON].list, last = m_.starts[list + 1] - 1;
    for (int64_t j = m_.starts[list]; j < last + 16; j += 16) {  // 16 numbers fill a cache line
        __builtin_prefetch(m_.items + std::min(j, last));
        if (!distinct_[list]) __builtin_prefetch(m_.places + std::min(j, last));
    }
}

void NeighborSearch::vote(SparseSums<float>& votes) const {
    double highest = 0;
    for (const Neighbor& n : neighbors_) highest = std::max(highest, n.similarity);
    votes.change(int64_t(neighbors_.size()) * m_.members / m_.known, [&](auto mark) {
        for (size_t i = 0; i < neighbors_.size(); ++i) {
            prefetch(i);
            const Neighbor& n = neighbors_[i];
            add_votes(n, float(raised(n.similarity / highest, power_)), votes.values.data(), mark);
        }
    });
}

// Adds the votes of a neighbor: the weight of the list times the weight of the item's position.
template <class Mark>
inline void NeighborSearch::add_votes(const Neighbor& n, float weight, float* values, Mark&& mark) const {
    const float* position_weight = position_weight_.data() + m_.longest - n.last_shared;
    int64_t start = m_.starts[n.list], length = m_.starts[n.list + 1] - start;
    const int32_t *items = m_.items + start, *positions = m_.places + start;
    auto add = [&](auto&& position) {
        for (int64_t j = 0; j < length; ++j) {
            uint32_t item = uint32_t(items[j]);
            CHECK_INDEX(items[j], m_.vocabulary);
            CHECK_INDEX(m_.longest - n.last_shared + position(j), position_weight_.size());
            values[item] += weight * position_weight[position(j)];
            mark(item);
        }
    };
    if (distinct_[n.list])
        add([](int64_t j) { return j; });
    else
        add([&](int64_t j) { return positions[j]; });
}
