"""Invented names of artists and songs for the sample world."""

from itertools import product

import numpy as np

# Genre -> the nouns in its titles, so that a change of genre is visible in a list.
GENRES = {
    "Tidefolk": "Nets Gulls Oars Herrings Moorings Shallows Driftwood Anchors Kelp Ferries",
    "Lantern Jazz": "Lanterns Awnings Taxis Doorways Ashtrays Balconies Matches Umbrellas Tramlines Cufflinks",
    "Marsh Blues": "Reeds Herons Ditches Planks Bullfrogs Puddles Mosquitoes Willows Bogs Ropes",
    "Millstone Rock": "Millstones Engines Gravel Hammers Chimneys Rivets Quarries Girders Furnaces Anvils",
    "Cellar Techno": "Cellars Relays Magnets Circuits Fuses Stairwells Turbines Lasers Cables Pulses",
    "Copper Disco": "Coppers Sequins Mirrors Platforms Satellites Pennies Rooftops Fountains Ballrooms Glitters",
    "Kite Pop": "Kites Postcards Bicycles Lemons Balloons Ribbons Sandals Swings Paddles Marbles",
    "Orchard Soul": "Orchards Peaches Porches Letters Ladders Blossoms Kitchens Sundays Honeycombs Gates",
    "Harbour Choir": "Harbours Bells Candles Steeples Robes Processions Arches Psalters Pilgrims Organs",
    "Snowglass Ambient": "Snowdrifts Glaciers Windowpanes Antlers Frosts Hollows Auroras Needles Thermals Echoes",
}

# The first words of titles from the calmest songs to the loudest, two energies per row.
ENERGIES = (
    "Sleeping Silent Drowsy Faint Motionless Pale Dreaming Muffled Resting Weightless Folded Hushed",
    "Slow Patient Mild Drifting Lonely Quiet Idle Tender Distant Careful Lingering Gentle",
    "Walking Turning Steady Passing Open Borrowed Talking Rolling Crooked Swaying Painted Wandering",
    "Bright Rising Skipping Ringing Dancing Restless Golden Leaping Spinning Laughing Eager Swift",
    "Burning Racing Roaring Wild Thundering Breaking Shouting Electric Blazing Howling Furious Exploding",
)

FIRST_NAMES = "Velka Odda Tamsel Brun Iskra Mirelle Joss Perrin Anwy Dorrit Kasimo Luntje Orsa Fenno Hesper"
LAST_NAMES = (
    "Marrow Thistledown Ombrin Vantz Quillow Saltmarch Ardek Pomfret Lisk Underwend Corrigane Tull Ostrava Venn Bly"
)
BAND_THINGS = "Kelp Tallow Walnut Paraffin Thimble Velvet Turnip Cobalt Parcel Ginger Gravy Tweed Beacon Pewter Magpie"
BAND_PEOPLE = (
    "Clerks Couriers Regents Plumbers Widows Astronomers Bakers Deputies Lodgers Surveyors Uncles Divers Tailors"
)


def artist_names(count: int, generator: np.random.Generator) -> list[str]:
    """Return distinct names, half of them of people and half of bands."""
    people = [f"{first} {last}" for first, last in product(FIRST_NAMES.split(), LAST_NAMES.split())]
    bands = [f"The {thing} {who}" for thing, who in product(BAND_THINGS.split(), BAND_PEOPLE.split())]
    chosen = [*generator.permutation(people)[: count // 2], *generator.permutation(bands)[: count - count // 2]]
    return [str(name) for name in generator.permutation(chosen)]


def song_titles(genre: str, band: int, count: int, generator: np.random.Generator) -> list[str]:
    """Return distinct titles of a genre and a range of energies."""
    titles = [f"{mood} {noun}" for mood, noun in product(ENERGIES[band].split(), GENRES[genre].split())]
    return [str(title) for title in generator.permutation(titles)[:count]]
