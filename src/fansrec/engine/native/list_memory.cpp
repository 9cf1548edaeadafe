#include "list_memory.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "checked.h"

namespace {

constexpr double REACH = 15.0, ALIGNED_REACH = 2.0, COMMONEST = 0.05;  // as in models/hybrid/list_memory.py
constexpr int64_t LISTS_OF_AN_ITEM = 2000;
constexpr int64_t SAMPLED = 32;  // one run in so many tells where the border lies

}  // namespace

Recaller::Recaller(const ListMemory& memory)
    : m_(memory), found_(memory.known), like_(found_.numbers()), shortness_(found_.numbers()),
      whole_(found_.numbers()), last_shared_(found_.numbers()) {
    for (int64_t i = 0; i < m_.known; ++i) {
        int64_t length = m_.starts[i + 1] - m_.starts[i];
        shortness_[i] = 1 / std::sqrt(double(std::max<int64_t>(1, length)));
        whole_[i] = length == 0 || m_.places[m_.starts[i + 1] - 1] == length - 1;
    }
    for (int64_t d = -m_.longest; d <= m_.longest; ++d)
        worth_.push_back(float((d < 0 ? m_.before : 1.0) * (1 + m_.near * std::exp(-std::abs(double(d)) / REACH))));
}

void Recaller::look_up(const int64_t* given, int64_t length) {
    compare(given, length);
    choose();
}

// Adds up how like every list is. The oldest item comes first, so that the newest is the last one shared; an item that
// comes again counts where it stands last.
void Recaller::compare(const int64_t* given, int64_t length) {
    double* like = like_.data();
    int32_t* last_shared = last_shared_.data();
    uint8_t* found = found_.touched();
    while (int64_t(aligned_.size()) <= std::max(m_.longest, length))
        aligned_.push_back(1 + m_.aligned * std::exp(-double(aligned_.size()) / ALIGNED_REACH));
    for (int64_t place = 0; place < length; ++place) {
        int64_t item = given[place], end = m_.list_starts[item + 1], holders = end - m_.list_starts[item];
        if (std::find(given + place + 1, given + length, item) != given + length) continue;
        double rarity = std::max(std::log(double(m_.known) / double(std::max<int64_t>(holders, 1))), COMMONEST);
        double weight = rarity * (1 - m_.recency * double(length - 1 - place) / double(length));
        int64_t count = std::min(holders, LISTS_OF_AN_ITEM);
        const int32_t *lists = m_.lists + end - count, *places = m_.list_places + end - count;
        for (int64_t j = 0; j < count; ++j) {
            uint32_t list = uint32_t(lists[j]);
            int32_t at = places[j];
            CHECK_INDEX(lists[j], m_.known);
            CHECK_INDEX(at, m_.longest + 1);
            like[list] += m_.aligned == 0 ? weight : weight * aligned_[std::abs(place - at)];
            last_shared[list] = at;
            found[list / RUN] = 1;
        }
    }
}

// The most like of the lists found, no more than `neighbours`; of equals the newest.
void Recaller::choose() {
    runs_.clear();
    found_.take([&](int64_t first) { runs_.push_back(first); });
    collect(border());
    if (int64_t(neighbours_.size()) < m_.neighbours) collect(0);
    for (int64_t first : runs_) std::memset(&like_[first], 0, RUN * sizeof(double));
    if (int64_t(neighbours_.size()) <= m_.neighbours) return;
    std::nth_element(neighbours_.begin(), neighbours_.begin() + m_.neighbours, neighbours_.end(),
                     [](const Neighbour& a, const Neighbour& b) {
                         return a.like != b.like ? a.like > b.like : a.list > b.list;
                     });
    neighbours_.resize(m_.neighbours);
}

// How like the lists of a run are, for their length.
inline void Recaller::compared(int64_t first, double* out) const {
    const double* __restrict like = &like_[first];
    const double* __restrict shortness = &shortness_[first];
    for (int64_t i = 0; i < RUN; ++i) out[i] = like[i] * shortness[i];
}

// Somewhat less than what the last neighbour will have, guessed from a sample; 0 if there are too few to guess.
double Recaller::border() {
    sample_.clear();
    for (size_t r = 0; r < runs_.size(); r += SAMPLED) {
        sample_.resize(sample_.size() + RUN);
        compared(runs_[r], &sample_[sample_.size() - RUN]);
    }
    for (double& like : sample_) like = like == like ? like : 0;  // an order needs numbers
    int64_t expected = m_.neighbours / SAMPLED, nth = expected + 3 * int64_t(std::sqrt(double(expected)) + 1);
    if (nth >= int64_t(sample_.size())) return 0;
    std::nth_element(sample_.begin(), sample_.begin() + nth, sample_.end(), std::greater<double>());
    return sample_[nth];
}

void Recaller::collect(double floor) {
    neighbours_.clear();
    double run[RUN];
    for (int64_t first : runs_) {
        compared(first, run);
        for (unsigned bits = above(run, floor); bits; bits &= bits - 1) {
            int i = __builtin_ctz(bits);
            neighbours_.push_back({run[i], int32_t(first + i), last_shared_[first + i]});
        }
    }
}

// Lists lie anywhere in a large memory: what comes soon is sent for.
void Recaller::fetch(size_t neighbour) const {
    constexpr size_t SOON = 4, LATER = 12;
    if (neighbour + LATER < neighbours_.size()) __builtin_prefetch(m_.starts + neighbours_[neighbour + LATER].list);
    if (neighbour + SOON >= neighbours_.size()) return;
    int64_t list = neighbours_[neighbour + SOON].list;
    for (int64_t j = m_.starts[list]; j < m_.starts[list + 1]; j += 16) {  // of 4 bytes each, 16 fill a line
        __builtin_prefetch(m_.items + j);
        if (!whole_[list]) __builtin_prefetch(m_.places + j);
    }
}

// Each item that a neighbour holds, by the weight of its list and its place there.
void Recaller::hold(Sums<float>& held) const {
    float* of = held.of.data();
    uint8_t* runs = held.runs.touched();
    double most = 0;
    for (const Neighbour& n : neighbours_) most = std::max(most, n.like);
    for (size_t i = 0; i < neighbours_.size(); ++i) {
        fetch(i);
        const Neighbour& n = neighbours_[i];
        float weight = float(std::pow(n.like / most, m_.sharpness));
        const float* worth = worth_.data() + m_.longest - n.last_shared;
        int64_t start = m_.starts[n.list], length = m_.starts[n.list + 1] - start;
        const int32_t *items = m_.items + start, *places = m_.places + start;
        auto add = [&](auto&& place) {
            for (int64_t j = 0; j < length; ++j) {
                uint32_t item = uint32_t(items[j]);
                CHECK_INDEX(items[j], m_.vocabulary);
                CHECK_INDEX(m_.longest - n.last_shared + place(j), worth_.size());
                of[item] += weight * worth[place(j)];
                runs[item / RUN] = 1;
            }
        };
        if (whole_[n.list])
            add([](int64_t j) { return j; });
        else
            add([&](int64_t j) { return places[j]; });
    }
}
