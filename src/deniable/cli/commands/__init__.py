"""One file a command; a folder is a group of commands."""
