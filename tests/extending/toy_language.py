"""A language from outside the package: German, as far as it goes."""

from pathlib import Path

from discreet.words import register_language

register_language("de", Path(__file__).with_name("toy_german"))
