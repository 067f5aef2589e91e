"""Sums over shards in an order that does not depend on who adds them up.

Shards are the leaves of a binary tree. Whoever holds some of them adds neighbors as long as both
are there, so that any division of the shards among workers gives the same additions, and bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass
class Node:
    """The sum over the shards ``index * 2**level`` up to, not including, the next node's."""

    level: int
    index: int
    sums: Any  # with a method ``add``

    @property
    def first(self) -> int:
        """The first shard."""
        return self.index << self.level


def grow(stack: list[Node], node: Node) -> None:
    """Put the next node on a stack, and add up neighbors there."""
    stack.append(node)
    while len(stack) > 1 and _are_neighbors(*stack[-2:]):
        right, left = stack.pop(), stack.pop()
        left.sums.add(right.sums)
        stack.append(Node(left.level + 1, left.index // 2, left.sums))


def add_neighbors(nodes: Iterable[Node]) -> list[Node]:
    """Add up neighbors among nodes in the order of their shards; return those without one."""
    stack: list[Node] = []
    for node in nodes:
        grow(stack, node)
    return stack


def add_up(nodes: Iterable[Node]) -> Any:
    """Return the sum of all shards, from nodes in the order of their shards."""
    *others, last = add_neighbors(nodes)
    for node in reversed(others):
        node.sums.add(last.sums)
        last = node
    return last.sums


def _are_neighbors(left: Node, right: Node) -> bool:
    even = left.index % 2 == 0
    return left.level == right.level and even and right.index == left.index + 1
