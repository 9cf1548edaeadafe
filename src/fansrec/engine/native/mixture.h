// The weighted sum of the parts of the hybrid model (models/hybrid/model.py), for items that can be among the best.
#pragma once
#include "shortlist.h"
#include "sparse_scores.h"
#include "tied_classifier.h"

class Mixture {
   public:
    Mixture(const TiedClassifier& tied, double network_weight, const NetworkProbabilities& network,
            Shortlist& shortlist)
        : tied_(tied), weight_(float(network_weight)), network_(network), shortlist_(shortlist) {}

    void offer_scored(const SparseScores& sparse);  // the items that the list memory or the linear part scores
    void offer_unscored();                          // all others; called second, when the shortlist has a floor

   private:
    const TiedClassifier& tied_;
    float weight_;
    const NetworkProbabilities& network_;
    Shortlist& shortlist_;

    float score(float probability) const;
    float estimate_floor(const SparseScores& sparse);
    void offer_from(const SparseScores& sparse, float high);
    float least() const;
};
