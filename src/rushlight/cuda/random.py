"""The functions of ``rushlight.cuda`` about random numbers, under the name of their module in PyTorch."""
