"""The back end of a playlist app: suggests the next songs of a playlist, and reports which ones people take.

    FANS_URL=http://127.0.0.1:8080 uvicorn app:app --port 8000

A page never fails because of its suggestions: if the service is down, overloaded or slow, people see the best sellers.
"""

import asyncio
import json
import logging
import os
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import Cookie, FastAPI, Query, Request, Response
from pydantic import BaseModel, Field, StrictInt
from reporter import Reporter

import fansrec
from fansrec.client import Unavailable

SERVICE = os.environ.get("FANS_URL", "http://127.0.0.1:8080")
KEY = os.environ.get("FANS_KEY")  # if the service has keys
PATIENCE_S = float(os.environ.get("FANS_PATIENCE", "0.5"))  # how long a page waits for suggestions
LAST_SONGS = 100  # of a playlist are sent: a model refuses lists that are longer than it is made for
BEST_SELLERS = json.loads(Path(os.environ.get("BEST_SELLERS", "best_sellers.json")).read_text(encoding="utf-8"))

logger = logging.getLogger("uvicorn.error")
playlists: defaultdict[str, list[str | int]] = defaultdict(list)  # your database, with limits of its own


# All that goes into events is checked here, since the service refuses a whole batch for one wrong event.
Person = Annotated[str | None, Cookie(min_length=1, max_length=64)]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    # One client for all requests: it keeps connections open, so that a suggestion costs no handshake.
    async with fansrec.AsyncClient(SERVICE, KEY, timeout=PATIENCE_S, retries=1) as client:
        app.state.client, app.state.reporter = client, Reporter(client)
        reporting = asyncio.create_task(app.state.reporter.run())
        yield
        reporting.cancel()
        await app.state.reporter.flush()


app = FastAPI(lifespan=lifespan)


@app.get("/playlists/{id}/suggestions")
async def suggestions(
    id: str,
    request: Request,
    response: Response,
    count: Annotated[int, Query(ge=1, le=50)] = 5,
    person: Person = None,
) -> dict[str, Any]:
    """Return songs that continue a playlist; `source` is the model, or null if these are the best sellers."""
    if person is None:  # a random key, so that the service learns nothing about the person
        person = secrets.token_hex(16)
        # With https, add secure=True: then the cookie is never sent in the clear.
        response.set_cookie("person", person, httponly=True, samesite="lax")
    songs = playlists[id]  # your app first checks that the person may see this playlist
    try:
        # With a split, the service chooses the model by `client`. A playlist of only new songs gets popular ones.
        answers = await request.app.state.client.continue_lists(
            [songs[-LAST_SONGS:]], k=count, exclude=songs, client=person, fallback="popular"
        )
    except Unavailable as error:
        logger.warning("showing best sellers: %s", error)
    except fansrec.FansError as error:  # a refused request: our mistake, for example a wrong key
        logger.error("showing best sellers: %s", error)
    else:
        found = [{"id": one.item, "name": one.name} for one in answers[0].positions]
        if found:
            request.app.state.reporter.add(type="shown", model=answers.model, count=len(found), client=person)
        return {"source": answers.model, "songs": found}
    return {"source": None, "songs": [song for song in BEST_SELLERS if song["id"] not in songs][:count]}


# As in suggestions: the ids of a model are strings or integers.
SongId = Annotated[str, Field(min_length=1, max_length=100)] | Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)]


class Added(BaseModel):
    """A song that a person adds, and where it was suggested: the `source` and its position, from 1."""

    song: SongId
    source: str | None = Field(None, max_length=64)
    position: int | None = Field(None, ge=1, le=50)


@app.post("/playlists/{id}/songs", status_code=204)
async def add_song(id: str, added: Added, request: Request, person: Person = None) -> None:
    """Add a song to a playlist; one that a model suggested is reported as accepted."""
    # Your app checks here that the person may change this playlist, that the song exists, and that there is room:
    # nothing limits how many playlists and songs this program keeps, and how often it is called.
    playlists[id].append(added.song)
    if added.source is not None:
        request.app.state.reporter.add(
            type="accepted", model=added.source, item=added.song, position=added.position, client=person
        )
