"""Graph attention (Velickovic et al., 2018): which community is a node in, judged by its neighbours?

Each node looks at its neighbours and weighs them by a learned score. The graph is made here: some communities whose
nodes are linked to one another more often than to strangers, with features that say little about a single node. A few
nodes of each community are labelled, the others are to be found.

    rushlight run examples/gat.py
    rushlight run examples/gat.py --blind

With the neighbours 98 % of the other nodes are found. `--blind` leaves each node alone with its own features, for
comparison: 64 %.
"""

import argparse

import torch
from torch import nn
from torch.nn import functional as F


class GraphAttention(nn.Module):
    def __init__(self, inputs, outputs, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.linear = nn.Linear(inputs, heads * outputs, bias=False)
        self.source = nn.Parameter(torch.empty(heads, outputs))
        self.target = nn.Parameter(torch.empty(heads, outputs))
        self.bias = nn.Parameter(torch.zeros(heads * outputs))
        for parameter in (self.linear.weight, self.source, self.target):
            nn.init.xavier_uniform_(parameter)

    def forward(self, x, edges):
        """Features (nodes, inputs) and edges (2, count), from row 0 to row 1; to (nodes, heads * outputs)."""
        nodes = len(x)
        source, target = edges
        h = self.linear(F.dropout(x, self.dropout, self.training)).view(nodes, self.heads, -1)
        score = (h * self.source).sum(-1)[source] + (h * self.target).sum(-1)[target]
        score = F.leaky_relu(score, 0.2)
        # A softmax over the edges that end in the same node; without its maximum, which cancels, exp could overflow.
        index = target.unsqueeze(1).expand_as(score)
        most = torch.full((nodes, self.heads), float("-inf")).scatter_reduce(0, index, score.detach(), "amax")
        weight = (score - most[target]).exp()
        weight = weight / torch.zeros(nodes, self.heads).index_add(0, target, weight)[target]
        weight = F.dropout(weight, self.dropout, self.training)
        message = h[source] * weight.unsqueeze(-1)
        return torch.zeros_like(h).index_add(0, target, message).flatten(1) + self.bias


class GAT(nn.Module):
    def __init__(self, features, classes, width=8, heads=8, dropout=0.5):
        super().__init__()
        self.first = GraphAttention(features, width, heads, dropout)
        self.second = GraphAttention(heads * width, classes, 1, dropout)

    def forward(self, x, edges):
        return self.second(F.elu(self.first(x, edges)), edges)


def planted_partition(nodes, communities, features, inside=0.05, outside=0.004, signal=0.5):
    """Features (nodes, features), edges (2, count) both ways, and the community of each node."""
    labels = torch.arange(nodes) % communities
    chance = torch.where(labels.unsqueeze(1) == labels, inside, outside)
    linked = torch.rand(nodes, nodes).triu(1) > 1 - chance
    edges = linked.nonzero().t()
    centres = torch.randn(communities, features)
    return signal * centres[labels] + torch.randn(nodes, features), torch.cat([edges, edges.flip(0)], dim=1), labels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--communities", type=int, default=5)
    parser.add_argument("--features", type=int, default=16)
    parser.add_argument("--labelled", type=int, default=10, help="nodes of each community whose label is known")
    parser.add_argument("--blind", action="store_true", help="remove all edges")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    x, edges, labels = planted_partition(args.nodes, args.communities, args.features)
    itself = torch.arange(args.nodes).expand(2, -1)
    edges = itself if args.blind else torch.cat([edges, itself], dim=1)
    known = torch.arange(args.nodes) < args.labelled * args.communities
    print(f"{args.nodes} nodes, {edges.shape[1]} edges, {known.sum()} labels")

    model = GAT(args.features, args.communities)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)
    for epoch in range(1, args.epochs + 1):
        model.train()
        loss = F.cross_entropy(model(x, edges)[known], labels[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            right = model(x, edges).argmax(1) == labels
        found = right[~known].float().mean().item()
        if epoch % 10 == 0 or epoch == args.epochs:
            print(f"epoch {epoch:3}: loss {loss.item():.4f}, {found:.1%} of the other nodes found")
    print(f"result: accuracy={found:.4f} loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
