"""A language model of words: what comes next in the reference of the Python language?

An LSTM, a GRU or a Transformer reads text in parallel columns and is trained by truncated backpropagation through time:
a recurrent network carries its state on from one piece of the columns to the next. `--tied` shares one matrix between
the words' embedding and the output (Press and Wolf, 2017), which halves the parameters and helps on little text.

    rushlight run examples/word_lm.py --model LSTM --tied
    rushlight run examples/word_lm.py --model Transformer

The text is what `help()` knows about the language, some 45 000 words. Guessing from the words' frequencies has a
perplexity of 209; after six epochs the models are between 57 (a tied GRU) and 104 (a tied Transformer).
"""

import argparse
import math
from collections import Counter

import torch
from _text import paragraphs, split, words
from torch import nn
from torch.nn import functional as F


class Transformer(nn.Module):
    """Takes and gives what nn.LSTM does; its state is None, for it looks back within a piece only."""

    def __init__(self, width, layers, dropout, heads=4):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)

    def forward(self, x, state):
        length, _, width = x.shape
        # Sines and cosines of the position, of wavelengths that grow with the dimension.
        angles = torch.arange(length).unsqueeze(1) * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        position = torch.stack([angles.sin(), angles.cos()], dim=-1).view(length, 1, width)
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        return self.encoder(x + position, mask, is_causal=True), None


class WordModel(nn.Module):
    def __init__(self, kind, vocabulary, width, layers, dropout, tied):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.dropout = nn.Dropout(dropout)
        if kind == "Transformer":
            self.body = Transformer(width, layers, dropout)
        else:
            self.body = getattr(nn, kind)(width, width, layers, dropout=dropout)
        self.output = nn.Linear(width, vocabulary)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        if tied:
            self.output.weight = self.embedding.weight

    def forward(self, tokens, state):
        """Tokens (length, batch) to scores (length, batch, vocabulary), and the state to go on from."""
        x = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        hidden, state = self.body(self.dropout(x), state)
        return self.output(self.dropout(hidden)), state


def columns(tokens, count):
    """The text (length, count): column after column, what does not fill them is dropped."""
    length = len(tokens) // count
    return torch.tensor(tokens[: length * count]).view(count, length).t().contiguous()


def detach(state):
    if isinstance(state, tuple):
        return tuple(s.detach() for s in state)
    return state if state is None else state.detach()


def pieces(text, length):
    for start in range(0, len(text) - 1, length):
        end = min(start + length, len(text) - 1)
        yield text[start:end], text[start + 1 : end + 1]


def train(model, text, optimizer, length, clip=0.5):
    model.train()
    total, state = 0.0, None
    for inputs, targets in pieces(text, length):
        optimizer.zero_grad()
        scores, state = model(inputs, detach(state))
        loss = F.cross_entropy(scores.flatten(0, 1), targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        total += loss.item() * len(inputs)
    return math.exp(total / (len(text) - 1))


@torch.no_grad()
def evaluate(model, text, length):
    model.eval()
    total, state = 0.0, None
    for inputs, targets in pieces(text, length):
        scores, state = model(inputs, state)
        total += F.cross_entropy(scores.flatten(0, 1), targets.flatten()).item() * len(inputs)
    return math.exp(total / (len(text) - 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=("LSTM", "GRU", "Transformer"), default="LSTM")
    parser.add_argument("--tied", action="store_true", help="one matrix for words coming in and words going out")
    parser.add_argument("--width", type=int, default=200)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--length", type=int, default=35, help="words that gradients reach back")
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, help="read so many words only")
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    training, validation = ([w for p in part for w in words(p)] for part in split(paragraphs()))
    training = training[: args.limit]
    known = ["<unknown>", *(word for word, count in Counter(training).items() if count > 2)]
    number = {word: i for i, word in enumerate(known)}
    training, validation = (
        columns([number.get(word, 0) for word in part], count)
        for part, count in ((training, args.batch_size), (validation, 10))
    )
    print(f"{training.numel()} words to train on, {len(known)} different ones")

    model = WordModel(args.model, len(known), args.width, args.layers, args.dropout, args.tied)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    for epoch in range(1, args.epochs + 1):
        seen = train(model, training, optimizer, args.length)
        unseen = evaluate(model, validation, args.length)
        print(f"epoch {epoch:2}: perplexity {seen:7.2f} in training, {unseen:7.2f} in validation")
        scheduler.step()
    print(f"result: perplexity={unseen:.4f}")


if __name__ == "__main__":
    main()
