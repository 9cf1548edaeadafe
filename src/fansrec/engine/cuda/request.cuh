// How a cluster reads its list from the request, and how the work on it is divided.

constexpr int OUT_TILES = WIDTH / 8 / WARPS, WIDE_TILES = FEEDFORWARD / 8 / WARPS;  // of 8 columns, for each warp
constexpr int HEAD_TILES = HEAD / 8;
constexpr int HEADS_PER_BLOCK = HEADS > CLUSTER ? HEADS / CLUSTER : 1;
constexpr int BLOCKS_PER_HEAD = HEADS < CLUSTER ? CLUSTER / HEADS : 1;

constexpr int FIRST_ITEM = SEGMENTED || SASREC ? 1 : 0;  // the token of the first item: CLS may come before it

struct List {  // the list that a cluster encodes
    int number, offset, length, k, masks, tokens, tiles, first_mask, first_position;
    const int *items;
    bool all_masks;
};

__device__ List list_at(const Request &request, const InlineItems &inline_items, int number) {
    List list;
    list.number = number;
    if (request.lists == 1) {
        list.length = request.length, list.k = request.k, list.first_position = list.offset = 0;
        list.items = request.items ? request.items : inline_items.items;
    } else {
        list.offset = request.offsets[number];
        list.length = request.offsets[number + 1] - list.offset, list.items = request.items + list.offset;
        list.first_position = request.first_positions[number];
        list.k = request.first_positions[number + 1] - list.first_position;
    }
    list.masks = min(list.k, request.most_masks), list.all_masks = request.all_masks;
    // SASRec has no masks, but one token more than items: its last item is where BERT4Rec has the mask of the next item.
    list.tokens = list.length + list.masks + (SEGMENTED ? 3 : 0);
    list.first_mask = list.length + (SEGMENTED ? 2 : 0);
    list.tiles = (list.tokens + TILE - 1) / TILE;
    return list;
}

// The tokens whose states the hybrid model reads (models/hybrid/model.py): the last one of the input if READ_NEXT, then
// at most READ_MASKS masks, evenly spread. The division is the one of the model, in float64.
__device__ __forceinline__ int read_rows(int masks) { return READ_NEXT + min(masks, READ_MASKS); }

__device__ __forceinline__ int read_token(const List &list, int row) {
    if (READ_NEXT && row == 0) return list.length;
    const double step = static_cast<double>(list.masks) / min(list.masks, READ_MASKS);
    return list.first_mask + static_cast<int>((row - READ_NEXT + 0.5) * step);
}

// Returns whether the state of a token of the tile is read after the last layer.
__device__ bool reads_tile(const List &list, int tile) {
    if (!TIED) return tile >= list.first_mask / TILE;
    bool reads = list.all_masks && tile >= list.first_mask / TILE;
    for (int row = 0; row < read_rows(list.masks); row++) reads |= read_token(list, row) / TILE == tile;
    return reads;
}
