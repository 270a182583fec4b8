"""The functions of ``rushlight.cuda`` about memory, under the name of their module in PyTorch."""
