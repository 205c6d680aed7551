"""What the commands do, loaded when one is called; their options are in the folder above."""
