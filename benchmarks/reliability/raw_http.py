"""Send malformed HTTP over plain sockets, many at once, and count the answers."""

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.reliability.attacks import Attack

PATIENCE = 8.0  # seconds for an answer, or for the connection to be closed
AT_ONCE = 48
RESET = struct.pack("ii", 1, 0)  # closing sends a reset


@dataclass
class Outcomes:
    """Statuses of all attacks (or no answer), and the attacks with a wrong answer."""

    requests: int
    statuses: Counter[str]
    wrong: Counter[str]


def run_attacks(port: int, all_attacks: Sequence[Attack]) -> Outcomes:
    return asyncio.run(_run_all(port, all_attacks))


async def _run_all(port: int, all_attacks: Sequence[Attack]) -> Outcomes:
    outcomes, room = Outcomes(0, Counter(), Counter()), asyncio.Semaphore(AT_ONCE)

    async def one(attack: Attack) -> None:
        async with room:
            seen = await _attempt(port, attack)
        outcomes.requests += attack.requests
        outcomes.statuses.update(seen or ["no answer"])
        if any(status.startswith("5") for status in seen) or (attack.right and seen != ["200"] * attack.answers):
            outcomes.wrong[f"{attack.name}: {' '.join(sorted({*seen})) or 'no answer'}"] += 1

    await asyncio.gather(*map(one, all_attacks))
    return outcomes


async def _attempt(port: int, attack: Attack) -> list[str]:
    """Return the statuses of the answers."""
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), PATIENCE)
    except (OSError, TimeoutError):
        return ["not connected"]
    try:
        for number, piece in enumerate(attack.pieces):
            if number and attack.pause:
                await asyncio.sleep(attack.pause)
            writer.write(piece)
            await asyncio.wait_for(writer.drain(), PATIENCE)
        if attack.then == "reset":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            return []
        if attack.then == "half-close":
            writer.write_eof()
        return await _answers(reader, attack.answers)
    except (OSError, TimeoutError):  # closed while we were writing: an answer may still be in our buffer
        return await _answers(reader, attack.answers)
    finally:
        writer.transport.abort()


async def _answers(reader: asyncio.StreamReader, most: int) -> list[str]:
    statuses: list[str] = []
    try:
        async with asyncio.timeout(PATIENCE):
            while len(statuses) < most:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                status = head[9:12].decode(errors="replace")
                if status != "100":
                    statuses.append(status)
                length = head.partition(b"content-length:")[2].split(b"\r")[0].strip()
                await reader.readexactly(int(length or 0))
    except (OSError, TimeoutError, EOFError, ValueError, asyncio.LimitOverrunError):
        pass
    return statuses
