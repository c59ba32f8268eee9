"""What all rules share: reading a diff, naming a path, telling a finding."""
