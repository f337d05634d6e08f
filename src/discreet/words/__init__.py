"""The catalogue: the sentences that people read, one file a language."""

from discreet.words.texts import Catalogue, catalogue, languages

__all__ = ["Catalogue", "catalogue", "languages"]
