"""`python -m benchmarks`: print every figure, with its target where there is one."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from benchmarks import cluster, events, replica, sim, store, wire


def main() -> None:
    """Measure and print."""
    console = Console()
    costs = Table("what", "µs", title="costs", title_justify="left")
    for what, cost in [*wire.run(), *events.run(), *store.run(), *replica.run()]:
        costs.add_row(what, f"{cost:.2f}")
    console.print(costs)
    console.print("target: a publication in one run at a replica costs at most 5 µs\n")
    speed = sim.run()
    figures = Table("what", "figure", title="simulator", title_justify="left")
    for what, figure in speed.items():
        figures.add_row(what, f"{figure:,.0f}" if isinstance(figure, float | int) else str(figure))
    console.print(figures)
    console.print("target: at least 50,000 statements a second on one core\n")
    real = Table("what", "figure", title="four replicas as processes", title_justify="left")
    for what, figure in cluster.run():
        real.add_row(what, figure)
    console.print(real)


if __name__ == "__main__":
    main()
