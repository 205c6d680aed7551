"""The page that people read: records to a report model to HTML or Markdown."""
