#include "head.h"

#include <algorithm>
#include <memory>

#include "category_ranking.h"
#include "checked.h"

namespace {

struct OpenPosition {
    const PositionRange* range;
    int64_t position;
};

// The columns that need items of one category, and the scores of these items.
struct CategoryGroup {
    int64_t category;
    std::vector<int64_t> columns;
    std::unique_ptr<BlockTopK> scores;
};

// Gathers the columns of a group and applies the transform of its category.
void transform_columns(const Head& head, const CategoryGroup& group, Tiles hidden, Tiles gathered, Tiles out) {
    int64_t D = head.width, count = int64_t(group.columns.size());
    CHECK_INDEX(group.category, head.categories);
    for (int64_t i = 0; i < count; ++i) copy_column(hidden, group.columns[i], gathered, i, D);
    clear_padding(gathered, count, D);
    if (!head.local.weight) return;
    int64_t c = group.category;
    apply(head.local.from(c * D, D), D, D, gathered, out, 0, tiles_for(count), Epilogue::GELU);
    normalize(out, D, 0, tiles_for(count), {head.local_norm.weight + c * D, head.local_norm.bias + c * D});
}

// Scores the items of all groups; the chunks of all of them are divided among the threads.
void score_groups(const Head& head, Tiles hidden, std::vector<CategoryGroup>& groups, Workspace& workspace,
                  const ThreadPool& pool) {
    std::vector<Tiles> gathered, out;
    for (CategoryGroup& group : groups) {
        gathered.push_back(workspace.tiles(head.width, int64_t(group.columns.size())));
        out.push_back(head.local.weight ? workspace.tiles(head.width, int64_t(group.columns.size())) : gathered.back());
    }
    pool.run(int64_t(groups.size()),
             [&](int64_t g) { transform_columns(head, groups[g], hidden, gathered[g], out[g]); });
    std::vector<std::pair<BlockTopK*, int64_t>> chunks;
    for (size_t g = 0; g < groups.size(); ++g) {
        int64_t c = groups[g].category;
        ItemVectors items(head.item, head.width, head.rounded, c);
        groups[g].scores = std::make_unique<BlockTopK>(items, head.starts[c], head.starts[c + 1], out[g],
                                                       int64_t(groups[g].columns.size()),
                                                       Rounding::ITEMS_AND_COLUMNS, workspace);
        for (int64_t i = 0; i < groups[g].scores->chunks(); ++i) chunks.push_back({groups[g].scores.get(), i});
    }
    pool.run(int64_t(chunks.size()), [&](int64_t i) { chunks[i].first->score_chunk(chunks[i].second); });
    for (CategoryGroup& group : groups) group.scores->finish();
}

class ByPosition {
   public:
    ByPosition(const Head& head, Tiles hidden, int64_t columns, Workspace& workspace, const ThreadPool& pool)
        : head_(head),
          hidden_(hidden),
          workspace_(workspace),
          pool_(pool),
          ranking_(head, hidden, columns, workspace, pool) {
        group_of_.resize(head.categories);
        index_in_group_.resize(columns);
    }

    void select(const std::vector<PositionRange>& ranges) {
        std::vector<OpenPosition> open;
        for (const PositionRange& range : ranges)
            for (int64_t p = range.first_position; p < range.last_position; ++p) open.push_back({&range, p});
        for (int64_t rank = 0; rank < head_.categories && !open.empty(); ++rank) {
            auto mark = workspace_.mark();
            std::vector<CategoryGroup> groups = groups_at(rank, open);
            score_groups(head_, hidden_, groups, workspace_, pool_);
            std::vector<OpenPosition> left;
            for (const OpenPosition& entry : open)
                if (!fill(groups, entry, rank)) left.push_back(entry);
            open = left;
            workspace_.release_to(mark);
        }
    }

   private:
    const Head& head_;
    Tiles hidden_;
    Workspace& workspace_;
    const ThreadPool& pool_;
    CategoryRanking ranking_;
    std::vector<int32_t> group_of_;        // (categories), or -1
    std::vector<int64_t> index_in_group_;  // (columns), or -1

    // Groups the open positions by their category of this rank, without categories that have no allowed item left.
    std::vector<CategoryGroup> groups_at(int64_t rank, const std::vector<OpenPosition>& open) {
        std::fill(group_of_.begin(), group_of_.end(), -1);
        std::fill(index_in_group_.begin(), index_in_group_.end(), -1);
        std::vector<CategoryGroup> groups;
        for (const OpenPosition& entry : open) {
            int64_t column = entry.range->column(entry.position), c = ranking_.category(column, rank);
            if (index_in_group_[column] >= 0) continue;
            if (!entry.range->selection->any_allowed(head_.starts[c], head_.starts[c + 1])) continue;
            if (group_of_[c] < 0) {
                group_of_[c] = int32_t(groups.size());
                groups.push_back({c, {}, nullptr});
            }
            CategoryGroup& group = groups[group_of_[c]];
            index_in_group_[column] = int64_t(group.columns.size());
            group.columns.push_back(column);
        }
        return groups;
    }

    // Fills a position if it can; returns whether it is finished.
    bool fill(std::vector<CategoryGroup>& groups, const OpenPosition& entry, int64_t rank) {
        Selection& selection = *entry.range->selection;
        int64_t column = entry.range->column(entry.position), c = ranking_.category(column, rank);
        float log_probability = ranking_.log_probability(column, c);
        if (log_probability < selection.min_score() - 1e-3f) return true;  // items of later categories score even less
        if (index_in_group_[column] < 0) return false;
        auto allowed = [&](int64_t item) __attribute__((always_inline)) { return selection.allowed(item); };
        auto best = groups[group_of_[c]].scores->best(index_in_group_[column], allowed);
        if (best.item < 0) {
            selection.block_all(head_.starts[c], head_.starts[c + 1]);
            return false;
        }
        if (!selection.acceptable(best.score + log_probability)) return false;
        selection.select(entry.position, best.item, best.score + log_probability);
        return true;
    }
};

}  // namespace

void select_by_position(const Head& head, Tiles hidden, int64_t columns, const std::vector<PositionRange>& ranges,
                        Workspace& workspace, const ThreadPool& pool) {
    ByPosition(head, hidden, columns, workspace, pool).select(ranges);
}
