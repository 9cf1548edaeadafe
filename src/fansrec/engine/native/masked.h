// The tokens of lists with masked positions.
#pragma once
#include "models.h"

// Appends a list: its input, the first `selected` items selected, and `masks` masks, of which `read` evenly spaced
// ones are read, after the last token of the input if `read_input`. BERT4Rec encodes the items and the masks only, the
// others CLS input SEP masks SEP.
void append(Tokens& to, const Model& model, const Selection& selection, int64_t selected, int64_t masks, int64_t read,
            bool read_input = false);
