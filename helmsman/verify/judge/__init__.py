"""The independent model as judge: its view, its request, its answers. Only a complete, valid yes approves."""
