"""The imperative shell: one file for each outside thing, in rooms by what it is for. What lies in no room serves all of them."""
