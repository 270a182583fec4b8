"""What the DataLoader is made of. Light to import: processes and sockets come with the first worker."""
