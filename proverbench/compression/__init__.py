"""compressionbench: the same theorems with fewer kernel nodes."""
