"""What the commands do: one module each, loaded when its command is called; their options are in the folder above."""
