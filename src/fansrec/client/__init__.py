"""Asking a service from Python; nothing here needs torch."""

from fansrec.client.asking import NotAllowed as NotAllowed
from fansrec.client.clients import AsyncClient as AsyncClient
from fansrec.client.clients import Client as Client
from fansrec.client.retrying import Unavailable as Unavailable
