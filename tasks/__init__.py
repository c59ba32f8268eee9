"""The imperative shell: one file for each outside thing. Only steps.py and engine.py know Prefect."""
