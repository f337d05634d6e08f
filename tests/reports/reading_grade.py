"""How hard a text is to read: the Flesch–Kincaid grade (Kincaid et al. 1975).

    0.39 · words/sentences + 11.8 · syllables/words − 15.59

Syllables are counted as groups of vowels, less a silent final e; numerals as one syllable a digit
group read aloud would be unfair to any side, so they count as two.
"""

from __future__ import annotations

import re

HARDEST = 8.0
"""The grade that no text for the public may exceed."""


def syllables(word: str) -> int:
    word = word.lower()
    if any(letter.isdigit() for letter in word):
        return 2
    groups = len(re.findall(r"[aeiouy]+", word))
    if word.endswith("e") and not word.endswith(("le", "ee")) and groups > 1:
        groups -= 1
    if word.endswith(("ed", "es")) and not word.endswith(("ted", "ded", "ses", "zes", "ches")):
        groups -= groups > 1
    return max(1, groups)


def grade(text: str) -> float:
    sentences = [s for s in re.split(r"[.!?]+(?:\s|$)", text) if s.strip()]
    words = re.findall(r"[A-Za-z]+(?:'[a-z]+)?|\d[\d,.]*", text)
    spoken = sum(syllables(word) for word in words)
    return 0.39 * len(words) / len(sentences) + 11.8 * spoken / len(words) - 15.59
