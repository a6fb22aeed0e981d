"""Quorumcast: a publish/subscribe broker that keeps its promises while some of its servers lie."""

__version__ = "0.1.0"
