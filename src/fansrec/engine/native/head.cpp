#include "head.h"

#include <algorithm>
#include <memory>

#include "checked.h"
#include "ranking.h"

namespace {

struct Waiting {
    const Asker* asker;
    int64_t position;
};

// The columns that ask for items of one category, and how these do.
struct Round {
    int64_t category;
    std::vector<int64_t> columns;
    std::unique_ptr<Contest> contest;
};

// What scores a category's items: the columns, brought together and through its transform.
Strips local_columns(const Head& head, const Round& round, Strips known, Strips gathered, Strips out) {
    int64_t D = head.width, count = int64_t(round.columns.size());
    CHECK_INDEX(round.category, head.categories);
    for (int64_t i = 0; i < count; ++i) copy_column(known, round.columns[i], gathered, i, D);
    clear_behind(gathered, count, D);
    if (!head.local.weight) return gathered;
    int64_t c = round.category;
    apply(head.local.from(c * D, D), D, D, gathered, out, 0, strips_for(count), Then::GELU);
    normalise(out, D, 0, strips_for(count), {head.local_norm.weight + c * D, head.local_norm.bias + c * D});
    return out;
}

ItemVectors items_of(const Head& head, int64_t category) {
    const uint16_t* halves = head.halves ? head.halves + head.half_starts[category] * head.width : nullptr;
    return {head.item.weight, head.item.bias, head.width, halves, float(head.longest)};
}

// All tiles of all contests, as tasks anybody may take.
void play(const Head& head, Strips known, std::vector<Round>& rounds, Workspace& room, const Crew& crew) {
    std::vector<Strips> gathered, out;
    for (Round& round : rounds) {
        gathered.push_back(room.strips(head.width, int64_t(round.columns.size())));
        out.push_back(head.local.weight ? room.strips(head.width, int64_t(round.columns.size())) : gathered.back());
    }
    crew.run(int64_t(rounds.size()), [&](int64_t r) { local_columns(head, rounds[r], known, gathered[r], out[r]); });
    std::vector<std::pair<Contest*, int64_t>> tiles;
    for (size_t r = 0; r < rounds.size(); ++r) {
        int64_t c = rounds[r].category;
        rounds[r].contest = std::make_unique<Contest>(items_of(head, c),
                                                      head.starts[c], head.starts[c + 1], out[r],
                                                      int64_t(rounds[r].columns.size()), room);
        for (int64_t t = 0; t < rounds[r].contest->tiles(); ++t) tiles.push_back({rounds[r].contest.get(), t});
    }
    crew.run(int64_t(tiles.size()), [&](int64_t t) { tiles[t].first->play(tiles[t].second); });
    for (Round& round : rounds) round.contest->settle();
}

class ByPosition {
   public:
    ByPosition(const Head& head, Strips known, int64_t columns, Workspace& room, const Crew& crew)
        : head_(head), known_(known), room_(room), crew_(crew), ranking_(head, known, columns, room, crew) {
        round_of_.resize(head.categories);
        place_of_.resize(columns);
    }

    void choose(const std::vector<Asker>& askers) {
        std::vector<Waiting> waiting;
        for (const Asker& asker : askers)
            for (int64_t p = asker.first_position; p < asker.last_position; ++p) waiting.push_back({&asker, p});
        for (int64_t rank = 0; rank < head_.categories && !waiting.empty(); ++rank) {
            auto mark = room_.mark();
            std::vector<Round> rounds = rounds_at(rank, waiting);
            play(head_, known_, rounds, room_, crew_);
            std::vector<Waiting> left;
            for (const Waiting& w : waiting)
                if (!done(rounds, w, rank)) left.push_back(w);
            waiting = left;
            room_.back_to(mark);
        }
    }

   private:
    const Head& head_;
    Strips known_;
    Workspace& room_;
    const Crew& crew_;
    Ranking ranking_;
    std::vector<int32_t> round_of_;  // of each category, or -1
    std::vector<int64_t> place_of_;  // of each column in its round, or -1

    // The categories asked about at this rank that still have something to give.
    std::vector<Round> rounds_at(int64_t rank, const std::vector<Waiting>& waiting) {
        std::fill(round_of_.begin(), round_of_.end(), -1);
        std::fill(place_of_.begin(), place_of_.end(), -1);
        std::vector<Round> rounds;
        for (const Waiting& w : waiting) {
            int64_t column = w.asker->column(w.position), c = ranking_.category(column, rank);
            if (place_of_[column] >= 0 || !w.asker->picks->any_left(head_.starts[c], head_.starts[c + 1])) continue;
            if (round_of_[c] < 0) {
                round_of_[c] = int32_t(rounds.size());
                rounds.push_back({c, {}, nullptr});
            }
            Round& round = rounds[round_of_[c]];
            place_of_[column] = int64_t(round.columns.size());
            round.columns.push_back(column);
        }
        return rounds;
    }

    // Whether a position need not be asked again.
    bool done(std::vector<Round>& rounds, const Waiting& w, int64_t rank) {
        Picks& picks = *w.asker->picks;
        int64_t column = w.asker->column(w.position), c = ranking_.category(column, rank);
        float likely = ranking_.log_probability(column, c);
        if (likely < picks.min_score() - 1e-3f) return true;  // nor will any item of it or a later one be good enough
        if (place_of_[column] < 0) return false;
        auto best = rounds[round_of_[c]].contest->best(
            place_of_[column], [&](int64_t item) __attribute__((always_inline)) { return picks.allowed(item); });
        if (best.item < 0) {
            picks.block_all(head_.starts[c], head_.starts[c + 1]);
            return false;
        }
        if (!picks.good_enough(best.score + likely)) return false;
        picks.put(w.position, best.item, best.score + likely);
        return true;
    }
};

}  // namespace

void choose_by_position(const Head& head, Strips known, int64_t columns, const std::vector<Asker>& askers,
                        Workspace& room, const Crew& crew) {
    ByPosition(head, known, columns, room, crew).choose(askers);
}
