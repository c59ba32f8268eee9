"""The independent model: what it is shown, how it is asked, how its answer is read. Nothing but a whole, clean yes approves."""
