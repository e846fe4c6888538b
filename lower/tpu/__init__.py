"""What the TPU compiler makes of a program, ahead of time and without a TPU."""
