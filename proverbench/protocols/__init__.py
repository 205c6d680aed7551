"""How judges are asked and how replies are read; pure but for the prompt files."""
