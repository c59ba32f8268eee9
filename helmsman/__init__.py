"""The pure core of Helmsman: what the loop knows and how it steers. Values in, values out."""
