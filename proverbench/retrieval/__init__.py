"""retrievalbench: how well a search engine finds what a proof needs."""
