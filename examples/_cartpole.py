"""A pole on a cart that is pushed left or right: the equations and numbers of Barto, Sutton and Anderson (1983),
"Neuronlike adaptive elements that can solve difficult learning control problems", without friction."""

import math

import torch

GRAVITY, CART, POLE, HALF_LENGTH, FORCE, TICK = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02  # m/s², kg, kg, m, N, s


class CartPole:
    """The state is (position, velocity, angle, angular velocity), in metres, radians and seconds."""

    longest = 500

    def reset(self):
        """Starts an episode near the upright pole; the state, a tensor (4,)."""
        self.state = torch.empty(4).uniform_(-0.05, 0.05).tolist()
        self.ticks = 0
        return torch.tensor(self.state)

    def step(self, action):
        """Pushes to the right (1) or left (0) for one tick; the new state, the reward, and whether the episode ends."""
        x, v, angle, spin = self.state
        force = FORCE if action == 1 else -FORCE
        sine, cosine = math.sin(angle), math.cos(angle)
        push = (force + POLE * HALF_LENGTH * spin**2 * sine) / (CART + POLE)
        turn = (GRAVITY * sine - cosine * push) / (HALF_LENGTH * (4 / 3 - POLE * cosine**2 / (CART + POLE)))
        pull = push - POLE * HALF_LENGTH * turn * cosine / (CART + POLE)
        self.state = x, v, angle, spin = x + TICK * v, v + TICK * pull, angle + TICK * spin, spin + TICK * turn
        self.ticks += 1
        fallen = abs(x) > 2.4 or abs(angle) > math.radians(12)
        return torch.tensor(self.state), 1.0, fallen or self.ticks >= self.longest


def returns_of(rewards, discount):
    """What followed each step, discounted, brought to mean 0 and deviation 1."""
    returns, following = [], 0.0
    for reward in reversed(rewards):
        following = reward + discount * following
        returns.append(following)
    returns = torch.tensor(returns[::-1])
    return (returns - returns.mean()) / (returns.std() + 1e-6)
