"""Whether a log, a model and answers agree with what clients have written, whatever was killed meanwhile."""

from collections import ChainMap, Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.updates.kill_clients import ACKNOWLEDGED, GROUP, IN_DOUBT, K, Reader, Write, Writer

from fansrec.api.continuer import Continuer
from fansrec.artifact import read_artifact
from fansrec.serving.writes.records import read_lines
from fansrec.updating.changes import Change, RemoveList, SetList
from fansrec.updating.records import from_json
from fansrec.updating.state import read_state
from fansrec.updating.update import hash_after, update

MOST_MODELS = 1000  # that answers are compared with, of each model that the service has read

Lists = dict[str, SetList]  # by id
Records = Sequence[tuple[int, tuple[Change, ...]]]  # numbers and changes


@dataclass
class Findings:
    """What is wrong, as text."""

    lost: list[str] = field(default_factory=list)  # acknowledged lists and removals that are not there
    half: list[str] = field(default_factory=list)  # lists or requests of which a part is there
    never_sent: list[str] = field(default_factory=list)  # or refused, or there twice


def read_log(path: Path) -> Records:
    """Return the number and the changes of every record."""
    records = (line.record for line in read_lines(path))
    return [(record["seq"], tuple(map(from_json, record["changes"]))) for record in records if "seq" in record]


def check_log(records: Records, writes: Sequence[Write]) -> Findings:
    """Compare each record with the request that was acknowledged with its number, or with those in doubt."""
    acknowledged = {write.seq: write.changes for write in writes if write.outcome == ACKNOWLEDGED}
    in_doubt: Counter[Sequence[Change]] = Counter(write.changes for write in writes if write.outcome == IN_DOUBT)
    requests = {write.changes for write in writes}
    findings, sent = Findings(), {change for changes in requests for change in changes}
    numbers = Counter(write.seq for write in writes if write.outcome == ACKNOWLEDGED)
    findings.lost += [f"{count} writes with the number {seq}" for seq, count in numbers.items() if count > 1]
    for seq, changes in records:
        expected = acknowledged.pop(seq, None)
        if expected is None and in_doubt[changes]:
            in_doubt[changes] -= 1
        elif changes != expected:
            findings.lost += [f"record {seq} is {changes} instead of {expected}"] if expected else []
            in_part = changes not in requests and sent.intersection(changes)
            (findings.half if in_part else findings.never_sent).append(f"record {seq}: {changes}")
    findings.lost += [f"record {seq}: {changes}" for seq, changes in acknowledged.items()]
    return findings


def lists_of(run: Path) -> Lists:
    """Return the lists that a model remembers, by their ids."""
    state = read_state(read_artifact(run))
    items, starts, names = state.memory.items.tolist(), state.memory.starts.tolist(), state.names
    found: Lists = {}
    for index in range(len(state.memory)):
        id, own = names.id(index), items[starts[index] : starts[index + 1]]
        assert id is not None and id not in found, id
        found[id] = SetList(id, tuple(state.ids[item] for item in own), names.title(index))
    return found


def check_lists(found: Mapping[str, SetList], base: Mapping[str, SetList], writers: Sequence[Writer]) -> Findings:
    """Compare the lists of a model with those of the model before it and those that were written."""
    findings, left = Findings(), dict(found)
    findings.lost += [f"list {id} of the first model" for id, one in base.items() if left.pop(id, None) != one]
    for writer in writers:
        sent = {change for write in writer.writes for change in write.changes}
        for id, possible in possible_lists(writer.writes).items():
            there = left.pop(id, None)
            if there not in possible:
                findings.lost.append(f"list {id} is {there} instead of {possible}")
            if there is not None and there not in sent:
                findings.half.append(f"list {id} is {there}")
        group = [str(one.title).rpartition(".")[0] for id, one in found.items() if id.startswith(writer.group)]
        if len(set(group)) > 1 or len(group) not in (0, GROUP):
            findings.half.append(f"the lists of the group of {writer.name} were written by {group}")
    findings.never_sent += [f"list {id}" for id in left]
    return findings


def possible_lists(writes: Sequence[Write]) -> dict[str, set[SetList | None]]:
    """Return what each list may be: as it was last acknowledged, or as a later request in doubt has left it."""
    possible: dict[str, set[SetList | None]] = {}
    for write in writes:
        for change in write.changes:
            assert change.id is not None
            now, before = None if isinstance(change, RemoveList) else change, possible.setdefault(change.id, {None})
            if write.outcome == ACKNOWLEDGED:
                possible[change.id] = {now}
            elif write.outcome == IN_DOUBT:
                before.add(now)
    return possible


def check_answers(
    runs: Sequence[Path], records: Records, readers: Sequence[Reader], requests: Sequence[list[list[str]]]
) -> Iterator[str]:
    """Yield what is wrong with answers: each is that of a model after some record, and never goes back to fewer.

    `runs` are the models that the service was started with, or has read when it reloaded.
    """
    states = [{state: seq for seq, state in states_of(run, records)} for run in runs]
    for reader in readers:
        yield from check_order(reader, ChainMap(*states))
    for run, own in zip(runs, states, strict=True):
        yield from check_items(run, records, own, readers, requests)


def check_items(
    run: Path,
    records: Records,
    states: Mapping[str, int],
    readers: Sequence[Reader],
    requests: Sequence[list[list[str]]],
) -> Iterator[str]:
    """Yield answers that are not those of this model after the record that they were answered from.

    Of more than `MOST_MODELS` such records, as many are compared, spread over all of them: a model is made for each.
    """
    seen: dict[int, dict[int, list[object]]] = defaultdict(lambda: defaultdict(list))  # by record, by request
    for reader in readers:
        for (state, number), items in reader.answers.items():
            if state in states:
                seen[states[state]][number].append(items)
    for seq, model in models_after(run, records, spread(sorted(seen), MOST_MODELS)):
        for number, answers in seen[seq].items():
            expected = [answer.items for answer in model.continue_lists(requests[number], K)]
            if any(items != expected for items in answers):
                yield f"request {number} after record {seq}: {answers} instead of {expected}"


def spread(numbers: Sequence[int], most: int) -> Sequence[int]:
    """Return at most that many of the numbers, at regular intervals, with the first and the last one."""
    if len(numbers) <= most:
        return numbers
    return [numbers[round(at * (len(numbers) - 1) / (most - 1))] for at in range(most)]


def states_of(run: Path, records: Records) -> Iterator[tuple[int, str]]:
    """Yield the hash of the model after each record."""
    state = read_artifact(run).hash
    yield 0, state
    for seq, changes in records:
        state = hash_after(state, changes)
        yield seq, state


def check_order(reader: Reader, states: Mapping[str, int]) -> Iterator[str]:
    """Yield what is wrong with the order of the states that a reader has seen."""
    before = 0
    for state, least in reader.states:
        seq = states.get(state)
        if seq is None:
            yield f"{reader.name} was answered from the unknown state {state}"
        elif seq < max(before, least):
            yield f"{reader.name} was answered from record {seq} after {before}, with {least} acknowledged before"
        before = before if seq is None else max(before, seq)


def models_after(run: Path, records: Records, wanted: Sequence[int]) -> Iterator[tuple[int, Continuer]]:
    """Yield the model after each of the records with the `wanted` numbers, in their order."""
    artifact, done = read_artifact(run), 0
    for last in wanted:
        changes = [change for seq, some in records if done < seq <= last for change in some]
        artifact, done = update(artifact, changes)[0] if changes else artifact, last
        yield last, Continuer(artifact)
