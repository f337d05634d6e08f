"""Mechanisms as mathematics: one file a mechanism, its law, its loss, its accuracy, its words."""
