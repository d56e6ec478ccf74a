"""What fits a question and a budget."""
