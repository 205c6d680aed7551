"""What is shown: pages, tables, frames and exports."""
