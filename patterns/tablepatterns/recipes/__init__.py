"""The patterns of the guide: one file each, named for it."""
