// What the entry points check before they use what they were given. Sizes, pointers and offsets are checked in every
// build. Members of long arrays are checked when a model is read (Python) and, in builds with FANS_CHECKED, here too.
#pragma once
#include "call.h"
#include "strengths.h"
#include "tied.h"

bool is_valid(const Call& call, int64_t items);
bool is_valid(const Model& model);
bool is_valid(const Encoder& encoder, const int64_t* categories_of, int64_t items);
bool is_valid(const Tied& tied);
bool is_valid(const Voices& voices, int64_t items);
