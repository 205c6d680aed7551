"""Tokens, prices and budgets; pure."""
