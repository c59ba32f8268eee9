"""What is told of a loop, as it goes and afterwards."""
