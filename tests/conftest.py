"""What tests of every room may ask for."""

pytest_plugins = ["servers", "browsers", "sharing"]
