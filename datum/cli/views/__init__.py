"""What people and programs see. Text is made here and nowhere else."""
