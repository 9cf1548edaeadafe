// FANS by --recipe best: its encoder, then what network, memory and linear part say together.
#include <atomic>
#include <mutex>

#include "blend.h"
#include "call.h"
#include "validation.h"

#define OFFERED extern "C" __attribute__((visibility("default")))

// hybrid.py has the same structure; keep both alike.
struct Best {
    const Model* model;  // its tokens and its encoder
    Tied tied;
    Voices voices;
    double network_weight;
};

namespace {

constexpr int64_t MASKS_ASKED = 10;  // as in models/hybrid/model.py

// What one list needs besides a workspace; as large as the catalogue, so it is kept between calls.
struct Desk {
    Strengths strengths;
    std::vector<uint64_t> bits;
    explicit Desk(const Best& best) : strengths(best.voices, best.tied.items), bits(best.tied.items / 64 + 1) {}
};

class BestFans {
   public:
    explicit BestFans(const Best& best) : best_(best) {}

    int64_t items() const { return best_.tied.items; }

    void answer(const Call& call, const Question& question, Picks& picks, Workspace& room, const Crew& crew) {
        auto mark = room.mark();
        std::unique_ptr<Desk> desk = take_desk();
        auto likely = consult(question, call.way == RECALL ? 1 : question.wanted, desk->strengths, room, crew);
        Shortlist shortlist(picks, call.groups, call.max_per_group, desk->bits);
        Blend blend(best_.tied, best_.network_weight, *likely, shortlist);
        blend.offer_strong(desk->strengths);
        blend.offer_likely();
        shortlist.give();
        give_back(std::move(desk));
        room.back_to(mark);
    }

   private:
    const Best best_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Desk>> desks_;

    // Network and memory do not need each other. Who reads goes on with tiles of the classifier as long as the other
    // looks up lists; then both share what is left of either.
    std::unique_ptr<Probabilities> consult(const Question& question, int64_t masks, Strengths& strengths,
                                           Workspace& room, const Crew& crew) const {
        std::unique_ptr<Probabilities> likely;
        std::atomic<bool> looked_up{false}, failed{false};
        int64_t tile = 0;
        crew.run(2, [&](int64_t task) {
            try {
                if (task == 1) {
                    strengths.look_up(question.items, question.given);
                    looked_up.store(true);
                    return;
                }
                likely = read(question, masks, room);
                while (crew.threads > 1 && !looked_up.load() && tile < likely->tiles()) likely->play(tile++);
            } catch (const std::exception&) {
                failed.store(true);  // it must not leave a thread of the crew
            }
        });
        if (failed.load()) throw std::bad_alloc();
        crew.run(Strengths::PARTS + likely->tiles() - tile, [&](int64_t task) {
            task < Strengths::PARTS ? strengths.listen(task) : likely->play(tile + task - Strengths::PARTS);
        });
        strengths.finish();
        likely->settle();
        return likely;
    }

    std::unique_ptr<Desk> take_desk() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            if (!desks_.empty()) {
                std::unique_ptr<Desk> desk = std::move(desks_.back());
                desks_.pop_back();
                return desk;
            }
        }
        return std::make_unique<Desk>(best_);
    }

    void give_back(std::unique_ptr<Desk> desk) {
        std::lock_guard<std::mutex> lock(mutex_);
        desks_.push_back(std::move(desk));
    }

    // CLS input SEP masks SEP; of many masks some are asked, evenly spread.
    std::unique_ptr<Probabilities> read(const Question& question, int64_t masks, Workspace& room) const {
        const Model& model = *best_.model;
        std::vector<Token> tokens{model.token(model.start(), 0, 0)};
        auto put = [&](int64_t item, int64_t segment) {
            tokens.push_back(model.token(item, int64_t(tokens.size()), segment));
        };
        for (int64_t i = 0; i < question.given; ++i) put(question.items[i], 0);
        put(model.separator(), 0);
        int64_t asked = std::min(masks, MASKS_ASKED), first = int64_t(tokens.size());
        for (int64_t i = 0; i < masks; ++i) put(model.mask(), 1);
        put(model.separator(), 1);
        std::vector<int64_t> places;
        for (int64_t i = 0; i < asked; ++i)
            places.push_back(first + int64_t((double(i) + 0.5) * (double(masks) / double(asked))));
        Span all{0, int64_t(tokens.size()), 0, asked};
        Tokens list{tokens.data(), int64_t(tokens.size()), places.data(), asked, &all, 1};
        return std::make_unique<Probabilities>(best_.tied, encode(model.encoder, list, room, Crew(1)), asked, room);
    }
};

}  // namespace

// Whether a model can be opened. BAD_CALL: the caller means another structure.
OFFERED int fans_check_best(const Best* best, int64_t size) {
    if (!best || size != sizeof(Best) || !best->model) return BAD_CALL;
    const Model& model = *best->model;
    bool valid = is_valid(best->tied) && model.head.items == best->tied.items &&
                 is_valid(model.encoder, model.categories_of, best->tied.items) &&
                 model.encoder.width == best->tied.width && is_valid(best->voices, best->tied.items);
    return valid ? DONE : BAD_MODEL;
}

// The structure is copied; what it points to must stay until it is closed. Null: it cannot be opened.
OFFERED void* fans_open_best(const Best* best, int64_t size) {
    return fans_check_best(best, size) == DONE ? new (std::nothrow) BestFans(*best) : nullptr;
}

OFFERED void fans_close_best(void* opened) { delete static_cast<BestFans*>(opened); }

OFFERED int fans_continue_best(void* opened, const Call* call) {
    if (!opened || !call) return BAD_CALL;
    BestFans& fans = *static_cast<BestFans*>(opened);
    return answer_call(*call, fans.items(), [&](Batch& batch, Workspace& room, const Crew& crew) {
        for (int64_t i = 0; i < batch.size(); ++i) fans.answer(*call, batch.questions[i], batch.picks[i], room, crew);
    });
}
