"""The board: a page that shows what is proved, what is running and what needs you."""
