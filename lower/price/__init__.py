"""What a program costs as the array code that it becomes, and the search by that price."""
