"""Kinds of endpoint, each one value; loads nothing heavy, for every command looks a saved run's kinds up."""
