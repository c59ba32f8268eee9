"""What a loop looks like to those who watch many things at once: spans and metric points, described as plain values.

Nothing here knows of OpenTelemetry's libraries, and nothing in the rest of the core knows of this room.
"""
