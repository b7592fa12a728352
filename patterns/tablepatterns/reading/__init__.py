"""Reading: every question that can be asked of an `EntitySet`."""
