"""Simulating: a day of a design in virtual time; where its work falls, and what of it would be refused."""
