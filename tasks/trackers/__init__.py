"""Issue trackers: told what a person should know of a loop, asked for what people answer there."""
