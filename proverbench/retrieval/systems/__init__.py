"""What is measured: one small interface (``base.py``) and its kinds."""
