"""What `proverbench plan` says, as data: for the terminal, the page and the report (docs/metrics.md, "Planning")."""
