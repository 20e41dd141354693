"""Two corpora about one promise: honest work is signed off, false completion never is."""
