"""The command line; a module for each command, which has `run(options)`, and what they share."""
