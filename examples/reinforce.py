"""REINFORCE (Williams, 1992): a policy that learns to balance a pole from nothing but how long it stayed up.

After each episode every action is made likelier in proportion to the reward that followed it, discounted, and counted
from the episode's mean.

    rushlight run examples/reinforce.py

A random policy keeps the pole up for 22 ticks on average; after 400 episodes it stays up for over 400 (an episode ends
after 500).
"""

import argparse

import torch
from _cartpole import CartPole, returns_of
from torch import nn
from torch.distributions import Categorical


def episode(policy, world):
    """Plays to the end; the actions' log probabilities and the rewards."""
    state, done = world.reset(), False
    log_probabilities, rewards = [], []
    while not done:
        choice = Categorical(logits=policy(state))
        action = choice.sample()
        log_probabilities.append(choice.log_prob(action))
        state, reward, done = world.step(action.item())
        rewards.append(reward)
    return torch.stack(log_probabilities), rewards


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--every", type=int, default=50, help="episodes between two lines")
    parser.add_argument("--discount", type=float, default=0.99)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    world = CartPole()
    policy = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    lengths = []
    for count in range(1, args.episodes + 1):
        log_probabilities, rewards = episode(policy, world)
        loss = -(log_probabilities * returns_of(rewards, args.discount)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lengths.append(len(rewards))
        if count % args.every == 0:
            print(f"episode {count:4}: the pole stayed up for {sum(lengths[-args.every :]) / args.every:.1f} ticks")
    print(f"result: first={lengths[0]} ticks={sum(lengths[-50:]) / len(lengths[-50:]):.1f}")


if __name__ == "__main__":
    main()
