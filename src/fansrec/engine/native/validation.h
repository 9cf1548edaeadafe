// Checks of the arguments of the entry points. Sizes, pointers and offsets are checked in every build. The elements of
// long arrays are checked when a model is loaded (Python) and, in builds with FANS_CHECKED, here too.
#pragma once
#include "call.h"
#include "hybrid.h"

bool is_valid(const Call& call, int64_t items);
bool is_valid(const Model& model);
bool is_valid(const Encoder& encoder, const int64_t* categories_of, int64_t items);
bool is_valid(const TiedClassifier& tied);
bool is_valid(const SparseParts& parts, int64_t items);
