"""The receiver of webhooks: a small server that turns signed messages about pushes into runs."""
