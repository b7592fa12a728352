"""The Queue service's REST interface: what travels over the wire, and nothing of the state's rules."""
