from fansrec.experiments.speed.generation_modes import compare_generation_modes


def test_every_system_has_a_row_with_a_speedup_over_bert4rec() -> None:
    rows = compare_generation_modes(300, [1, 4, 20], 3, "cpu", workload="aotm", seconds=1)
    assert [(row["arm"], row["model"], row["categories"]) for row in rows] == [
        ("autoregressive", "bert4rec", 1),
        ("autoregressive", "sasrec", 1),
        ("autoregressive", "gru4rec", 1),
        ("eager", "fans", 1),
        ("eager", "fans", 4),
        ("eager", "fans", 20),
    ]
    assert rows[0]["speedup"] == 1
    assert all(row["speedup"] > 0 and row["speedup_lists"] > 0 and row["mean_ms"] > 0 for row in rows)
    assert all(row["backend"] == "torch" for row in rows)
