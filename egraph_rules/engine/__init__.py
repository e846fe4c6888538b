"""egglog behind one door: programs of text, rounds that cannot pass a ceiling, budgets and patience."""
