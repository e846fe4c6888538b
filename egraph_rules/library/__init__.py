"""Instructions that come with loopsat: kernels with bodies as people write them, and operations that do the same."""
