// Range checks of indices from the arrays of a model. They would slow down the innermost loops, so only builds with
// FANS_CHECKED have them (compile.py); the Python side checks the arrays when a model is loaded.
#pragma once
#include <cstdint>
#if defined(FANS_CHECKED)
#include <cstdio>
#include <cstdlib>

#define CHECK_INDEX(index, count) check_index(int64_t(index), int64_t(count), #index, __FILE__, __LINE__)

inline void check_index(int64_t index, int64_t count, const char* what, const char* file, int line) {
    if (index >= 0 && index < count) return;
    std::fprintf(stderr, "%s:%d: %s is %lld, outside [0, %lld)\n", file, line, what, (long long)index,
                 (long long)count);
    std::abort();
}
#else
#define CHECK_INDEX(index, count) ((void)0)
#endif
