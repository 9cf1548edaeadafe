#include "call.h"

#include <algorithm>
#include <atomic>

#include "validation.h"

namespace {

constexpr int64_t TOKENS_AT_ONCE = 768;  // so that what the layers hand on stays near the processor

bool all_known(const int64_t* items, int64_t count, int64_t known) {
    for (int64_t i = 0; i < count; ++i)
        if (items[i] < 0 || items[i] >= known) return false;
    return true;
}

// A bit for every item that no list may be given.
std::vector<uint64_t> blocked_by(const Call& call, int64_t items) {
    std::vector<uint64_t> bits;
    if (call.allowed_count < 0 && !call.excluded_count) return bits;
    bits.assign(items / 64 + 1, call.allowed_count < 0 ? 0 : ~uint64_t(0));
    auto bit = [](int64_t item) { return uint64_t(1) << (item % 64); };
    for (int64_t i = 0; i < call.allowed_count; ++i) bits[call.allowed[i] / 64] &= ~bit(call.allowed[i]);
    for (int64_t i = 0; i < call.excluded_count; ++i) bits[call.excluded[i] / 64] |= bit(call.excluded[i]);
    return bits;
}

// Where batches of lists begin: several lists share the weights they need, but every thread shall have some. Sums may
// be made in another order in a larger batch, so one thread and two cut alike: then they agree to the last bit.
std::vector<int64_t> batches_of(const std::vector<Question>& questions, int64_t threads) {
    int64_t total = 0, here = 0;
    for (const Question& q : questions) total += q.given + q.wanted;
    int64_t most = std::min(TOKENS_AT_ONCE, total / (2 * std::max<int64_t>(2, threads)));
    std::vector<int64_t> starts;
    for (int64_t i = 0; i < int64_t(questions.size()); ++i) {
        if (starts.empty() || here >= most) starts.push_back(i), here = 0;
        here += questions[i].given + questions[i].wanted;
    }
    starts.push_back(int64_t(questions.size()));
    return starts;
}

class Sharing {
   public:
    Sharing(const Call& call, int64_t items, const Answer& answer)
        : call_(call), items_(items), answer_(answer), blocked_(blocked_by(call, items)) {
        rules_ = {blocked_.empty() ? nullptr : blocked_.data(), call.groups, call.max_per_group, call.min_score,
                  call.keep_seen != 0};
        for (int64_t i = 0, place = 0; i < call.lists; place += call.wanted[i++]) {
            questions_.push_back({call.items + call.offsets[i], call.offsets[i + 1] - call.offsets[i], call.wanted[i]});
            places_.push_back(place);
        }
    }

    Outcome run() {
        std::vector<int64_t> starts = batches_of(questions_, call_.threads);
        int64_t batches = int64_t(starts.size()) - 1;
        std::atomic<bool> failed{false};
        Crew together(int(call_.threads)), alone(1);
        (batches > 1 ? together : alone).run(batches, [&](int64_t b) {
            try {
                one_batch(starts[b], starts[b + 1], batches > 1 ? alone : together);
            } catch (const std::exception&) {  // too little memory, or a vector longer than there can be
                failed = true;
            }
        });
        return failed ? NO_MEMORY : DONE;
    }

   private:
    const Call& call_;
    int64_t items_;
    const Answer& answer_;
    std::vector<uint64_t> blocked_;
    Rules rules_;
    std::vector<Question> questions_;
    std::vector<int64_t> places_;  // where each list's answer begins

    void one_batch(int64_t first, int64_t last, const Crew& crew) {
        thread_local Workspace room;
        room.clear();
        Batch batch{&questions_[first], {}};
        for (int64_t i = first; i < last; ++i) {
            const Question& q = questions_[i];
            batch.picks.emplace_back(rules_, items_, q.items, q.given, q.wanted, room);
        }
        answer_(batch, room, crew);
        for (int64_t i = first; i < last; ++i)
            call_.answered[i] = batch.picks[i - first].write(call_.answers + places_[i], call_.scores + places_[i]);
    }
};

}  // namespace

Outcome answer_call(const Call& call, int64_t items, const Answer& answer) {
    if (!is_valid(call, items)) return BAD_CALL;
    bool known = all_known(call.items, call.offsets[call.lists], items) &&
                 all_known(call.excluded, call.excluded_count, items) &&
                 all_known(call.allowed, std::max<int64_t>(0, call.allowed_count), items);
    if (!known) return UNKNOWN_ITEM;
    try {
        return Sharing(call, items, answer).run();
    } catch (const std::exception&) {
        return NO_MEMORY;
    }
}
