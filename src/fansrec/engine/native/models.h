// The models that this library runs, as pointers to the caller's weights (structures.py), and the lists to continue.
#pragma once
#include <mutex>

#include "head.h"
#include "sparse_scores.h"
#include "tied_classifier.h"

// models/sequence/sasrec.py
struct CausalLayer {
    Affine attention_norm, qkv, feedforward_norm, first, second;
};

// models/hybrid/
struct Hybrid {
    TiedClassifier tied;
    SparseParts parts;
    double network_weight;  // 0: the network is not run
    double next_share;      // weight of the state after the input; the masks that are read share the rest
    int64_t read_masks;     // at most, evenly spread over all masks
};

// models/linear/: sums of the rows of the input items, and a score that every item has without them.
struct LinearModel {
    LinearPart weights;  // `items` null: a full matrix; width 0: no weights
    const float* base;   // (items)
};

// models/neighbors/vstan.py; decays are in positions, 0: no decay
struct Vstan {
    ListMemory memory;           // of its settings, only `neighbors`
    const double *list_factors;  // (lists): of the similarity of a list, by its length and its age
    const double *item_factors;  // (items): of the votes for an item
    const float* base;           // (items): added to the votes, which are at most 1
    double input_decay, item_decay, shared_decay;
    int64_t sample_size;  // newest lists that are compared with the input; 0: all
};

struct Model {
    int64_t kind;                  // a Kind
    const int64_t* categories_of;  // (tokens)
    Encoder encoder;               // of SASRec the sizes and the embeddings only
    const CausalLayer* causal;     // SASRec
    Affine last_norm;              // SASRec
    Head head;                     // of the hybrid model, linear models and V-STAN the number of items only
    const Hybrid* hybrid;          // the hybrid model
    const LinearModel* linear;     // linear models
    const Vstan* vstan;            // V-STAN

    int64_t mask() const { return head.items + 1; }
    int64_t start() const { return head.items + 2; }
    int64_t separator() const { return head.items + 3; }
    Token token(int64_t item, int64_t position, int64_t segment) const {
        return {item, categories_of[item], position, segment};
    }
};

enum Kind : int64_t { FANS, BERT4REC, SASREC, HYBRID, LINEAR, VSTAN };
enum GenerationMode : int64_t { ONE_PASS, AUTOREGRESSIVE, RECALL };

using Batch = std::vector<Selection>;  // some lists of a call and the items selected for them

// Fills all positions of a continuation in one pass; `shared`: from the best items of a single mask (recall).
void continue_one_pass(const Model& model, Batch& batch, bool shared, Workspace& workspace, const ThreadPool& pool);

// Continues with BERT4Rec item by item: every step encodes the whole list again.
void continue_autoregressive(const Model& model, Batch& batch, Workspace& workspace, const ThreadPool& pool);

// Buffers of the hybrid model for one list. Some are as large as the catalog, and therefore kept between calls.
struct Scratch {
    SparseScores sparse;
    std::vector<uint64_t> bits;
    explicit Scratch(const Hybrid& hybrid)
        : sparse(hybrid.parts, hybrid.tied.items), bits(hybrid.tied.items / 64 + 1) {}
};

class ScratchPool {
   public:
    std::unique_ptr<Scratch> take(const Hybrid& hybrid);
    void give_back(std::unique_ptr<Scratch> scratch);

   private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Scratch>> scratches_;
};

// Continues with the hybrid model; `shared` as above.
void continue_hybrid(const Model& model, Batch& batch, bool shared, ScratchPool& scratches, Workspace& workspace,
                     const ThreadPool& pool);

// Continues with SASRec, item by item if `steps` is set, otherwise by the best items of the first prediction.
void continue_sasrec(const Model& model, Batch& batch, bool steps, Workspace& workspace, const ThreadPool& pool);

// Continues with a linear model, item by item if `steps` is set, otherwise by the best items of the first prediction.
void continue_linear(const Model& model, Batch& batch, bool steps, Workspace& workspace);

// Continues with V-STAN; `steps` as above.
void continue_vstan(const Model& model, Batch& batch, bool steps, Workspace& workspace);

// Checks sizes, pointers and offsets. The elements of long arrays are checked when a model is loaded (Python) and, in
// builds with FANS_CHECKED, here too.
bool is_valid(const Model& model);
