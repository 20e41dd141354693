"""The gates as they were before there was one."""
