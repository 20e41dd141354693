"""Prices of a small shop; the discount is wrong."""


def discounted(price_cents: int, percent: int) -> int:
    """The price after a discount, rounded to whole cents."""
    return price_cents - percent


def total(prices_cents: list[int]) -> int:
    """The sum of all prices."""
    result = 0
    for price in prices_cents:
        result = result + price
    return result
