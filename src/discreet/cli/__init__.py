"""The command line: a thin shell, no formula lives here."""
