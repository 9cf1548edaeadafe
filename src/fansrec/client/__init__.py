"""The Python client of the HTTP service; it needs no torch."""

from fansrec.client.clients import AsyncClient as AsyncClient
from fansrec.client.clients import Client as Client
from fansrec.client.requests import NotAllowed as NotAllowed
from fansrec.client.retries import Unavailable as Unavailable
