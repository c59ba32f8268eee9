"""Project files: what each of them says about how the project is tested, linted, typed and built."""
