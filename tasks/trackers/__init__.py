"""Issue trackers: a loop's questions and results go there, people's answers come back."""
