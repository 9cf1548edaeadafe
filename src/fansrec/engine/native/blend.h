// The parts of --recipe best added up (models/hybrid/model.py), without looking at what cannot be among the best.
#pragma once
#include "shortlist.h"
#include "strengths.h"
#include "tied.h"

class Blend {
   public:
    Blend(const Tied& tied, double network_weight, const Probabilities& likely, Shortlist& best)
        : tied_(tied), weight_(float(network_weight)), likely_(likely), best_(best) {}

    void offer_strong(const Strengths& strengths);  // those the memory or the linear part spoke for
    void offer_likely();                            // all others; after the strong, which raise the floor

   private:
    const Tied& tied_;
    float weight_;
    const Probabilities& likely_;
    Shortlist& best_;

    float score(float probability) const;
    float guess(const Strengths& strengths);
    void offer_from(const Strengths& strengths, float high);
    float least() const;
};
