"""RUBRIC.md: what the work is judged by, written for people and read line by line."""
