"""What a run is made from: configuration, data, imports, downloads."""
