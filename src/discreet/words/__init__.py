"""The catalogue: the sentences that people read, one folder of texts for each language."""

from discreet.words.texts import Catalogue, catalogue, has, languages, register_language, say

__all__ = ["Catalogue", "catalogue", "has", "languages", "register_language", "say"]
