"""Alignment: find, ask and write down what a goal leaves open before a loop starts."""
