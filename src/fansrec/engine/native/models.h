// The models this library can run, as their weights lie in the caller's memory, and what is asked of them.
// library.py has the same structures; keep both alike.
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
    int64_t kind;                  // see below
    const int64_t* categories_of;  // of every token
    Encoder encoder;               // FANS, BERT4Rec; of SASRec the sizes and the embeddings
    const CausalLayer* causal;     // SASRec
    Norm last_norm;                // SASRec
    Head head;

    int64_t mask() const { return head.items + 1; }
    int64_t start() const { return head.items + 2; }
    int64_t separator() const { return head.items + 3; }
    Token token(int64_t item, int64_t place, int64_t segment) const {
        return {item, categories_of[item], place, segment};
    }
};

enum Kind : int64_t { FANS, BERT4REC, SASREC };
enum Way : int64_t { ONE_PASS, AUTOREGRESSIVE, RECALL };

struct Question {
    const int64_t* items;
    int64_t given, wanted;
};

// Some lists of a call, with what each has been given.
struct Batch {
    const Question* questions;
    std::vector<Picks> picks;

    int64_t size() const { return int64_t(picks.size()); }
};

// All positions of an answer in one pass; `shared`: one mask, whose best items are the answer (recall).
void continue_in_one_pass(const Model& model, Batch& batch, bool shared, Workspace& room, const Crew& crew);

// BERT4Rec item by item: the list is read again with every one.
void continue_rereading(const Model& model, Batch& batch, Workspace& room, const Crew& crew);

// SASRec, which remembers what it has read; `steps`: item by item, otherwise the best of its first prediction.
void continue_remembering(const Model& model, Batch& batch, bool steps, Workspace& room, const Crew& crew);
