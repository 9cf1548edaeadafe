// The structures that the host passes to the kernels; structures.py has the same fields.

typedef unsigned short half_t;  // the bits of an fp16 number

struct Weights {
    const float *items, *categories, *positions, *segments;  // embeddings
    const uint4 *matrices;           // of all layers: qkv, out, widen, narrow
    const float *vectors;            // of all layers: biases of qkv and out, norm, biases of widen and narrow, norm;
                                     // bias and norm of the head's transform, biases of the categories; embedding norm.
                                     // SASRec has neither `out` nor a head; a norm that its layers begin with is stored
                                     // at the end of the layer before, the first one as the embedding norm
    const uint4 *head_matrices;      // transform, categories
    const unsigned *local_matrices;  // (N, inputs, outputs), two outputs per word
    const float *local_vectors;      // (N, 3, WIDTH): bias, norm
    const int *category_of;          // (items)
    const int *slot_of;              // (items): where the item lies in the blocks of 32 (compare.cuh)
    int item_count, trained_positions;
};

struct Request {
    const int *items;            // list after list; null: one list, in InlineItems
    const int *offsets;          // (lists + 1): of the lists in `items`
    const int *first_positions;  // (lists + 1): of each list among all positions
    int lists, length, k;        // one list: its length and k; the arrays above are not read
    int most_masks;              // a list has k masks, but no more than this
    int all_masks;               // the hybrid model: whether the states of all masks are written
    int tiles;                   // of the longest list
    unsigned *blocked;           // (lists, words): bits of the items that must not be selected, or null
    int words;
    int mark_seen;
};

struct InlineItems {
    int items[INLINE];
};

struct Queries {  // results of the encoder for every position
    half_t *query16;
    float *query32;
    int *category, *list;
    float *category_score;
    int *counts, *buckets;  // the positions of each category
    int *seen;              // the block of every input item
    int positions;
};

struct Catalog {
    const uint4 *weights;  // (blocks, 32 items), in the order in which lanes load them
    const float *bias;     // (blocks * 32); MINUS_INF in slots without an item
    const int *category_of_block;
    const int *first_block;  // (N + 1): of every category
    int blocks;
};

struct BlockBest {
    float2 *best;  // (positions, stride): the best allowed logit of a block, and the log-sum-exp of all its logits
    int stride;
};

struct ItemTable {
    const float *weights;  // (slots, WIDTH) in fp32: items of a shortlist are scored again
    const float *bias;
    const int *item_at;  // (slots)
    float longest;       // the norm of the longest row of weights
};

struct Answer {
    int2 *shortlists;               // (positions, stride): slot, bits of the score
    int *lengths, *finished;        // of the shortlists; positions that are finished, by list
    int stride;                     // the longest answer of the request or, with groups, the longest shortlist
    const unsigned *base_blocked;  // (words): the bits of every list before its own items were marked
    int *items;                    // out
    float *scores;                 // out
    float min_score;
    const int *groups;  // (items), or null: no limits
    int max_per_group;
    int *append_to;  // autoregressive: where the selected item is appended, or null
    int *unfilled;   // out, (lists): positions without an item
};
