// The Transformer of FANS, BERT4Rec and the hybrid model (models/layers/encoder.py): tokens in, hidden states of some
// out.
#pragma once
#include "layers.h"
#include "thread_pool.h"

struct EncoderLayer {
    Affine qkv, out, attention_norm, widen, narrow, feedforward_norm;
};

struct Encoder {
    int64_t width, layers, heads, feedforward;
    int64_t positions, tokens, category_rows;  // numbers of rows of the embeddings
    int64_t causal;                            // 1: tokens before the masks see only themselves and those before them
    // (tokens, width), (category_rows, width) or null, (positions, width), (2, width)
    const float *item_embedding, *category_embedding, *position_embedding, *segment_embedding;
    Affine norm;
    const EncoderLayer* layer;
};

struct Token {
    int64_t item, category, position, segment;
};

// One list of a batch: its range of the tokens, and of the tokens whose hidden states are returned. If the encoder is
// causal, outputs before the masks must be adjacent tokens.
struct Span {
    int64_t first, masks, last;                       // in Tokens::tokens
    int64_t first_output, mask_outputs, last_output;  // in Tokens::outputs
};

struct Tokens {
    std::vector<Token> tokens;
    std::vector<int64_t> outputs;  // indices of the tokens whose hidden states are returned, list after list
    std::vector<Span> lists;

    int64_t count() const { return int64_t(tokens.size()); }
    int64_t output_count() const { return int64_t(outputs.size()); }
};

// Returns the hidden states, `width` rows and one column per output; they stay in `workspace` until it is cleared.
Tiles encode(const Encoder& encoder, const Tokens& tokens, Workspace& workspace, const ThreadPool& pool);
