from collections import Counter

import pytest

from fansrec.errors import BadSetting
from fansrec.serving.settings import Settings, read_settings
from fansrec.serving.split import Split, parse_split
from serving.service import Running

KEYS = [f"client {n}" for n in range(20_000)]


def assigned(shares: dict[str, float], salt: str = "") -> dict[str, str]:
    split = Split(shares, salt)
    return {key: split.assign(key) for key in KEYS}


def moves(before: dict[str, float], after: dict[str, float]) -> Counter[tuple[str, str]]:
    """Return how many keys move from one model to another."""
    old, new = assigned(before), assigned(after)
    return Counter((old[key], new[key]) for key in KEYS if old[key] != new[key])


def settings(**flags: object) -> Settings:
    return read_settings({"models": ["a=runs/a", "b=runs/b"]} | flags, None, {})


@pytest.mark.parametrize("shares", [{"a": 90, "b": 10}, {"a": 1, "b": 1, "c": 2}, {"a": 0.001, "b": 0.999}, {"a": 5}])
def test_models_get_their_shares_of_the_keys(shares: dict[str, float]) -> None:
    counts, total = Counter(assigned(shares).values()), sum(shares.values())
    for name, share in shares.items():
        expected = share / total
        deviation = (expected * (1 - expected) * len(KEYS)) ** 0.5
        assert abs(counts[name] - expected * len(KEYS)) <= 4 * deviation


def test_key_gets_the_same_model_in_every_process_and_version() -> None:
    split = Split({"a": 1, "b": 1})
    assert "".join(split.assign(f"client {n}") for n in range(24)) == "bbaabbbaabbbbbbaabbbabab"
    assert split.assign("Zoë \U0001f600") == Split({"b": 2, "a": 2}).assign("Zoë \U0001f600")


def test_change_of_shares_moves_only_the_keys_that_it_has_to() -> None:
    moved = moves({"a": 90, "b": 10}, {"a": 80, "b": 20})
    assert set(moved) == {("a", "b")} and abs(moved["a", "b"] - 0.1 * len(KEYS)) < 0.01 * len(KEYS)
    assert not moves({"a": 90, "b": 10}, {"b": 1, "a": 9})


def test_new_model_takes_keys_and_the_others_keep_the_rest() -> None:
    moved = moves({"a": 50, "b": 50}, {"a": 50, "b": 50, "c": 25})
    assert {new for _, new in moved} == {"c"} and abs(sum(moved.values()) - 0.2 * len(KEYS)) < 0.01 * len(KEYS)
    assert {old for old, _ in moves({"a": 50, "b": 50, "c": 25}, {"a": 50, "b": 50})} == {"c"}


def test_another_salt_assigns_keys_independently() -> None:
    both = Counter(zip(assigned({"a": 1, "b": 1}).values(), assigned({"a": 1, "b": 1}, "2").values(), strict=True))
    assert all(abs(count - len(KEYS) / 4) < 0.02 * len(KEYS) for count in both.values()) and len(both) == 4


def test_split_is_parsed_and_shares_are_normalized() -> None:
    assert parse_split("a:90, b.c-d_e:10") == {"a": 90, "b.c-d_e": 10}
    assert Split({"a": 30, "b": 10}).shares == {"a": 0.75, "b": 0.25}
    assert settings(split="a:90,b:10").split == settings(split={"a": 90, "b": 10}).split
    assert read_settings({"models": ["a=x"]}, None, {"FANS_SPLIT": "a:1"}).split == {"a": 1}
    assert Settings.model_validate(settings(split="a:3,b:1").model_dump(mode="json")).split == {"a": 3, "b": 1}


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ("a", "--split is 'a'; it must be of the form NAME:SHARE,NAME:SHARE, such as a:90,b:10"),
        ("a:x", "--split is 'a:x'; it must be of the form"),
        (":5", "--split is ':5'; it must be of the form"),
        ("", "--split is ''; it must be of the form"),
        ("a:1,a:2", "--split is 'a:1,a:2'; it names a twice"),
        ("a:0,b:1", "--split is 0.0; it must be more than 0"),
        ("a:nan", "--split is nan; it must be a"),
        ("a:inf", "--split is inf; it must be a"),
        ("a:1,c:1", "--split names 'c', which is not served; the models are a, b"),
        (5, "--split is 5; it must be an object"),
    ],
)
def test_invalid_split_is_refused(split: object, message: str) -> None:
    with pytest.raises(BadSetting) as error:
        settings(split=split)
    assert message in error.value.on_command_line


def test_clients_get_the_model_of_the_split_and_requests_without_one_the_default(service: Running) -> None:
    split = Split({"fans": 75, "best": 25})
    assert service.http.get("/v1/models").json()["split"] == split.shares == {"fans": 0.75, "best": 0.25}
    clients = KEYS[:12]
    answered = [service.ask([["i1"]], k=1, client=client).json()["model"]["name"] for client in clients]
    assert answered == [split.assign(client) for client in clients] and len({*answered}) == 2
    of_best = clients[answered.index("best")]
    for more in ({}, {"model": "fans", "client": of_best}, {"model": None, "client": None}):
        assert service.ask([["i1"]], k=1, **more).json()["model"]["name"] == "fans"
    assert service.http.get("/v1/items/i1/similar", params={"k": 1}).json()["model"]["name"] == "fans"


def test_requests_of_each_model_are_counted_by_how_it_was_chosen(service: Running) -> None:
    def count(model: str, chosen: str) -> float:
        return service.metric(f'fans_model_requests_total{{chosen="{chosen}",model="{model}"}}')

    rows = [("fans", "default"), ("best", "named"), (Split({"fans": 75, "best": 25}).assign("x"), "split")]
    before = [count(*row) for row in rows]
    for more in ({}, {"model": "best"}, {"client": "x"}):
        service.ask([["i1"]], k=1, **more)
    assert [count(*row) for row in rows] == [one + 1 for one in before]


@pytest.mark.parametrize("client", ["", "x" * 201, 5, ["x"]])
def test_client_that_is_not_a_short_text_is_refused(service: Running, client: object) -> None:
    response = service.ask([["i1"]], client=client)
    assert response.status_code == 422 and response.json()["errors"][0]["where"] == "client"
