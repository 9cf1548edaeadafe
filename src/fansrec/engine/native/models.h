// The models that this library runs, as pointers to the caller's weights (structures.py), and the lists to continue.
#pragma once
#include "encoder.h"
#include "head.h"

// models/sequence/sasrec.py
struct CausalLayer {
    Norm attention_norm;
    Linear qkv;
    Norm feedforward_norm;
    Linear first, second;
};

struct Model {
    int64_t kind;                  // a Kind
    const int64_t* categories_of;  // (tokens)
    Encoder encoder;               // FANS, BERT4Rec; of SASRec the sizes and the embeddings only
    const CausalLayer* causal;     // SASRec
    Norm last_norm;                // SASRec
    Head head;

    int64_t mask() const { return head.items + 1; }
    int64_t start() const { return head.items + 2; }
    int64_t separator() const { return head.items + 3; }
    Token token(int64_t item, int64_t position, int64_t segment) const {
        return {item, categories_of[item], position, segment};
    }
};

enum Kind : int64_t { FANS, BERT4REC, SASREC };
enum GenerationMode : int64_t { ONE_PASS, AUTOREGRESSIVE, RECALL };

struct Request {
    const int64_t* items;
    int64_t length, count;  // of the input, and of the continuation
};

// Some lists of a call and the items selected for them.
struct Batch {
    const Request* requests;
    std::vector<Selection> selections;

    int64_t size() const { return int64_t(selections.size()); }
};

// Fills all positions of a continuation in one pass; `shared`: from the best items of a single mask (recall).
void continue_one_pass(const Model& model, Batch& batch, bool shared, Workspace& workspace, const ThreadPool& pool);

// Continues with BERT4Rec item by item: every step encodes the whole list again.
void continue_autoregressive(const Model& model, Batch& batch, Workspace& workspace, const ThreadPool& pool);

// Continues with SASRec, item by item if `steps` is set, otherwise by the best items of the first prediction.
void continue_sasrec(const Model& model, Batch& batch, bool steps, Workspace& workspace, const ThreadPool& pool);
