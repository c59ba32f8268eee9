"""Files of hats and presets: text in, record out, and back."""
