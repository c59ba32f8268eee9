"""The folders that agents work in: made, held, measured, put back."""
