"""Why a program was chosen: decisions, derivations, and what kept a rule from helping."""
