"""`rushlight demo`: train a convolutional network to read handwritten digits."""

from .train import run
