// The bidirectional Transformer of FANS and BERT4Rec (models/layers/encoder.py): tokens in, what it knows at some of them out.
#pragma once
#include "crew.h"
#include "layer_norm.h"
#include "linear.h"
#include "workspace.h"

struct EncoderLayer {
    Linear qkv, out;
    Norm attention_norm;
    Linear widen, narrow;
    Norm feedforward_norm;
};

struct Encoder {
    int64_t width, layers, heads, feedforward, positions, tokens, category_rows;  // the last two: rows of embeddings
    const float *items, *categories, *places, *segments;  // embeddings, (count, width) each; categories may be null
    Norm norm;
    const EncoderLayer* layer;
};

struct Token {
    int64_t item, category, place, segment;
};

// One list among the tokens of a batch: its own, and those whose outcome is wanted.
struct Span {
    int64_t first, last;              // of the tokens
    int64_t first_asked, last_asked;  // of `asked`
};

struct Tokens {
    const Token* tokens;
    int64_t count;
    const int64_t* asked;  // which tokens leave the last layer, list after list
    int64_t asked_count;
    const Span* lists;
    int64_t list_count;
};

// (width) rows, one column for each token asked; lies in `room` until that is cleared.
Strips encode(const Encoder& encoder, const Tokens& tokens, Workspace& room, const Crew& crew);
