"""What a lesson is made of: statements, exercises, cells, figures, notes, its notebook."""
