"""Prints how many dispatches a movement file holds per depot."""
import sys

from service import movements


def totals(rows):
    return {d: len(r) for d, r in sorted(movements.by_depot(movements.dispatches(rows)).items())}


if __name__ == "__main__":
    for depot, n in totals(movements.read(sys.argv[1])).items():
        print(f"{depot} {n}")
