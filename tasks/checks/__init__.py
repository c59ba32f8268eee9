"""What finds out whether the work is good, before anybody is asked for an opinion."""
