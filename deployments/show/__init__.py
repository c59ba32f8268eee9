"""What a person sees of a loop."""
