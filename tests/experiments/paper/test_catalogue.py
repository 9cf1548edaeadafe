"""Systems, datasets and experiments as data, and the paper's numbers: copied well, and fitting together."""

import pytest

from fansrec.errors import BadSetting
from fansrec.experiments.paper.catalogue import (
    choose,
    chosen_datasets,
    chosen_experiments,
    datasets,
    experiments,
    published,
    systems,
)
from fansrec.experiments.paper.claims.verdicts import KINDS
from fansrec.models.registry import entry
from fansrec.training.settings import parse

AOTM_LISTS, AOTM_LONG_LISTS = 1292, 65
SLIP = ("Goodreads", 23.42)  # Table 4 says 8.1x of it, and 194.55 / 23.42 is 8.3
PUBLISHED_SETS = ("Zhihu", "Spotify", "AotM", "Goodreads")


def test_every_experiment_names_systems_that_there_are():
    for experiment in experiments().values():
        assert {name for name, _ in experiment.pairs()} <= systems().keys()


@pytest.mark.parametrize("name", sorted(systems()))
def test_a_system_is_a_registered_model_with_settings_it_has(name):
    system = systems()[name]
    assert entry(system.model)
    assert parse(system.model, system.settings)


def test_a_recaller_has_the_weights_of_the_model_it_recalls_with():
    assert systems()["BERT4Rec_R"].training == systems()["BERT4Rec"].training
    assert systems()["BERT4Rec_R"].generation == "recall"


def test_the_naive_variant_without_two_stages_goes_by_both_names():
    assert systems()["FANS_NAIVE"].title == "BERT4Rec_NAR / FANS_NAIVE"


def test_table_2_has_a_number_for_each_of_the_nine_systems():
    table = published("table2")
    assert table["systems"] == experiments()["table2"].more["systems"]
    for name in PUBLISHED_SETS:
        assert {len(row) for row in table[name].values()} == {9}


def test_every_published_hit_ratio_of_aotm_is_a_whole_number_of_lists():
    for row, lists in (("HR@5", AOTM_LISTS), ("HR@10", AOTM_LONG_LISTS)):
        for value in published("table2")["AotM"][row]:
            assert abs(value - round(value * lists) / lists) < 6e-5


def test_published_speedups_are_latencies_of_bert4rec_over_those_of_the_others():
    for name in PUBLISHED_SETS:
        two, four = published("table2")[name], published("table4")[name]
        assert four["bert4rec"] == two["latency"][3]
        for table in (two, four):
            for latency, speedup in zip(table["latency"], table["speedup"], strict=True):
                if (name, latency) != SLIP:
                    assert speedup == pytest.approx(four["bert4rec"] / latency, abs=0.06)


def test_published_statistics_fit_together():
    for name in PUBLISHED_SETS:
        row = published("table1")[name]
        assert row["average"] == pytest.approx(row["interactions"] / row["lists"], abs=0.02)
        assert row["items"] == published("table4")[name]["items"]


def test_table_3_has_the_papers_columns_first_and_then_our_own():
    ours, papers = experiments()["table3"].more["columns"], published("table3")["columns"]
    assert ours[: len(papers)] == papers
    for classifier, names in experiments()["table3"].more["rows"].items():
        assert len(names) == len(ours)
        assert all(len(values) == len(papers) for values in published("table3")[classifier].values())


def test_every_claim_can_be_tried():
    named = systems().keys()
    for claim in published("claims")["claim"]:
        assert claim["kind"] in KINDS
        assert claim["experiment"] in experiments()
        assert {*claim.get("left", ()), *claim.get("right", ()), *claim.get("among", ())} <= named
        assert set(claim.get("datasets", ())) <= datasets().keys()


def test_all_is_every_experiment():
    assert len(chosen_experiments(["all"])) == 8


def test_what_is_not_in_the_paper_is_refused():
    with pytest.raises(BadSetting, match="no experiment 'table9'"):
        chosen_experiments(["table9"])
    with pytest.raises(BadSetting, match="no dataset 'lastfm'"):
        chosen_datasets(["lastfm"])


def test_what_is_named_twice_is_done_once():
    choice = choose(["table2", "table2"], ["aotm", "zhihu", "aotm"], [2, 0, 2])
    assert [len(choice.experiments), [one.name for one in choice.datasets], choice.seeds] == [
        1,
        ["aotm", "zhihu"],
        (2, 0),
    ]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"of": []}, "no dataset is named"),
        ({"seeds": [0, -1]}, "whole numbers from 0 on"),
        ({"seeds": []}, "whole numbers from 0 on"),
        ({"seeds": [0], "quick": True}, "leave out --quick or --seeds"),
    ],
)
def test_choices_that_make_no_sense_are_refused(options, word):
    with pytest.raises(BadSetting, match=word):
        choose(["table2"], **options)


def test_quick_has_one_seed_and_one_epoch():
    choice = choose(["all"], quick=True)
    assert choice.seeds == (0,)
    assert choice.settings["epochs"] == 1
