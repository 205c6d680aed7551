"""Where calls go: one module for each kind, with retries, limits and prices beside them."""
