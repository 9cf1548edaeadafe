// The best of many elements that the blocks of a team hold: a threshold that the requested number of them reaches.
//
// Elements are ordered by a number of HIGH_LEVELS * 11 bits and, where these are equal, by one of 31 bits. A histogram of
// the first 11 bits of all elements says which bin the threshold is in; the elements of that bin are divided by their
// next 11 bits, and so on. Mostly two or three levels are enough; equal elements need all.

constexpr int DIGIT = 11, LOW_LEVELS = 3;
static_assert(BINS == 1 << DIGIT, "a digit is the number of a bin");

struct Threshold {
    word64 high;
    int low;
};

__device__ __forceinline__ bool reaches(const Threshold &least, word64 high, int low) {
    return high > least.high || (high == least.high && low >= least.low);
}

// Returns the sum of `x` over the threads of a block up to this one, and the sum over all.
__device__ int block_scan(int x, int *scratch, int &total) {
    for (int step = 1; step < 32; step <<= 1) {
        const int other = __shfl_up_sync(~0u, x, step);
        if (lane_id() >= step) x += other;
    }
    __syncthreads();  // other threads may still read the last sums
    if (lane_id() == 31) scratch[warp_id()] = x;
    __syncthreads();
    int before = 0;
    total = 0;
    for (int w = 0; w < blockDim.x / 32; w++) {
        if (w < warp_id()) before += scratch[w];
        total += scratch[w];
    }
    return before + x;
}

struct Bin {
    int digit, above, count, total;  // elements in the bins above it, in the bin, and in all bins
};

// Finds the bin of the `need`-th highest element, or the last bin if there are fewer; every thread reads a few bins.
__device__ Bin find_bin(const unsigned *bins, int need, int *scratch) {
    const int each = BINS / blockDim.x, highest = BINS - 1 - threadIdx.x * each;
    int own = 0, total;
    for (int i = 0; i < each; i++) own += __ldcg(bins + highest - i);
    const int up_to = block_scan(own, scratch, total);
    int *found = scratch + 32;
    if (up_to - own < need && (up_to >= need || threadIdx.x == blockDim.x - 1)) {
        int digit = highest, above = up_to - own, count = __ldcg(bins + digit);
        while (above + count < need && digit > highest - each + 1) above += count, count = __ldcg(bins + --digit);
        found[0] = digit, found[1] = above, found[2] = count;
    }
    __syncthreads();
    return {found[0], found[1], found[2], total};
}

__device__ __forceinline__ void clear_bins(unsigned *bins) {
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) bins[i] = 0;
    __syncthreads();
}

// Adds the histogram of a block to that of the team, which all blocks may read afterwards.
__device__ void merge_bins(const unsigned *bins, unsigned *all_bins) {
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        if (bins[i]) atomicAdd(all_bins + i, bins[i]);
    team_sync();
}

// Clears the histograms of the team; a barrier must follow before they are used.
__device__ void clear_levels(unsigned *all_bins) {
    for (int i = team_thread(); i < LEVELS * BINS; i += team_threads()) all_bins[i] = 0;
}

template <int HIGH_LEVELS>
__device__ __forceinline__ int level_shift(int level) {
    return DIGIT * ((level < HIGH_LEVELS ? HIGH_LEVELS : HIGH_LEVELS + LOW_LEVELS) - 1 - level);
}

// Returns the digit of an element at a level if the digits before it are those of the threshold, otherwise -1.
template <int HIGH_LEVELS>
__device__ __forceinline__ int next_digit(const Threshold &least, int level, word64 high, int low) {
    const int shift = level_shift<HIGH_LEVELS>(level), digit_mask = BINS - 1;
    if (level < HIGH_LEVELS) {
        const bool same = level == 0 || high >> (shift + DIGIT) == least.high >> (shift + DIGIT);
        return same ? static_cast<int>(high >> shift) & digit_mask : -1;
    }
    if (high != least.high) return -1;
    const bool same = level == HIGH_LEVELS || low >> (shift + DIGIT) == least.low >> (shift + DIGIT);
    return same ? low >> shift & digit_mask : -1;
}

// Returns a threshold that at least `need` elements reach, or all, and at most `limit` >= need. `bins` holds the histogram
// of the first digits of the block's own elements; each(count) calls count(high, low) for every one of them. `total` is
// the number of all elements.
template <int HIGH_LEVELS, class Each>
__device__ Threshold find_threshold(unsigned *bins, unsigned *all_bins, int *scratch, int need, int limit, int &total, Each each) {
    Threshold least = {0, 0};
    for (int level = 0, above = 0;; level++) {
        merge_bins(bins, all_bins + level * BINS);
        const Bin bin = find_bin(all_bins + level * BINS, need - above, scratch);
        if (level == 0) total = bin.total;
        if (total <= limit) return least;
        const int shift = level_shift<HIGH_LEVELS>(level);
        if (level < HIGH_LEVELS) least.high |= static_cast<word64>(bin.digit) << shift;
        else least.low |= bin.digit << shift;
        above += bin.above;
        if (above + bin.count <= limit || level == HIGH_LEVELS + LOW_LEVELS - 1) return least;
        clear_bins(bins);
        each([&](word64 high, int low) {
            const int digit = next_digit<HIGH_LEVELS>(least, level + 1, high, low);
            if (digit >= 0) atomicAdd(bins + digit, 1u);
        });
    }
}
