"""Issue trackers: post a loop's questions and results, read people's answers."""
