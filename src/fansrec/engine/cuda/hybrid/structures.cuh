// The structures of the hybrid model that the host passes to the kernels; structures.py has the same fields.
//
// Sums that many threads add to are integers: a number times a power of two, rounded. Their order then does not matter,
// and an answer is the same in every run. 62 bits are enough for any sum, so the rounding is far below that of float64
// terms.

typedef unsigned long long word64;

struct ListMemory {  // models/neighbors/list_votes.py; known == 0: there is none
    const int *items, *places;         // list after list: the items, and their positions in the list
    const long long *starts;           // (known + 1)
    const int *lists, *list_places;    // item after item: the lists that hold it, and its positions in them
    const long long *list_starts;      // (items + 1)
    const double *rarity;              // (items)
    const double *list_factor;         // (known): of the similarity, by the length and the age of a list
    const double *position_weight;     // (2 * longest + 1): of an item by its distance from the last shared item
    const double *alignment;           // factor of a shared item by the distance between its two positions
    int known, longest, neighbors;
    int most_lists;                    // of an item that are compared: the newest
    int few_items;                     // shorter inputs have more neighbors
    int weighs_positions;              // whether any position_weight differs from 1
    double recency, sharpness;
    double similarity_scale, vote_scale;  // of the integers
    double highest;                       // the largest product of a list_factor and an alignment
};

struct LinearPart {  // models/hybrid/model.py, or a linear model alone; width == 0: there are no weights
    const int *items;      // null: `weights` is a square matrix
    const float *weights;  // (items, width) each
    const float *base;     // (items), of a model alone: the scores without the weights
    int width;
    double decay, scale;
};

struct Rules {
    const unsigned *blocked;  // a bit per item that no list may get, or null
    const int *groups;        // (items), or null: no limits
    int max_per_group;
    int keep_seen;
    float min_score;
};

struct Mixture {  // the weights of the parts, and what turns a score into the number of its bin
    float network, memory, linear, bins_per_point;
    int items;  // of the catalog
};

struct Neighbor {  // a list that votes
    double weight;
    long long from;  // its items in ListMemory::items
    int length, shared;  // shared: the position of the last item that the input has, too
};

struct LookupScratch {  // for each team; sums, totals and counts are 0 between two lists
    word64 *similarity;         // (known)
    unsigned *last_shared;      // (known): position in the input + 1, then 16 bits of position in the list
    int *found;                 // (known): lists that share an item with the input
    double *found_similarity;   // (known)
    Neighbor *neighbors;        // (known)
    long long *votes, *linear;  // (items); null if these sums are in shared memory
    unsigned *bins;             // (LEVELS, BINS)
    word64 *totals;             // (4): the highest similarity, vote and linear sum
    int *counts;                // (4): lists that are found, neighbors
};

struct Sparse {  // the scores of list memory and linear part for every list
    float *scores;  // (lists, items): SEEN_SCORE for items of the input that must not be selected
    float *least;   // (lists): a score that the last selected item reaches
};

struct TiedWeights {  // models/hybrid/classifier.py, in fp32
    const float *transform;          // (inputs, outputs), or null
    const float *transform_vectors;  // (3, WIDTH): bias, norm
    const float *category;           // (inputs, CATEGORIES)
    const float *category_bias;      // (CATEGORIES)
    const float *items, *bias;       // (items, WIDTH) and (items)
    const float *prior;              // (items)
    const float *highest_prior;      // (CATEGORIES): of the items of a category
    const int *category_of;          // (items)
    const int *starts;               // (CATEGORIES + 1): category c is items starts[c] to starts[c + 1]
    float scale, next_share;
};

struct States {
    float *rows;   // (lists, READ_ROWS, WIDTH)
    float *masks;  // (positions, WIDTH), if all are written
};

struct BlendScratch {  // for each team
    word64 *entries;     // (items): score and number of every item that can be selected, in any order
    float *logits;       // (logit_stride, READ_ROWS): of the items of the categories that are read
    float2 *sums;        // (SLOTS, READ_CATEGORIES, READ_ROWS): highest logit, and sum of exponentials relative to it
    word64 *candidates;  // (CANDIDATES): the best entries, if there are too many to sort
    unsigned *bins;      // (LEVELS, BINS)
    int *counts;         // (2): of entries and candidates
    int logit_stride;
};

struct Selected {
    int *items;     // out, list after list: -1 where a list has no more items
    float *scores;  // out
    int *unfilled;  // out, (lists): 1 if group limits need more candidates than are sorted, otherwise 0
};

struct Arrangement {  // for each team
    float *affinity;  // (stride, stride): of every mask and every selected item
    float *expected;  // (stride): position of every selected item
    int stride;
};
