"""What the discount must do."""

import unittest

from pricing import discounted


class Discount(unittest.TestCase):
    """Percent means percent."""

    def test_ten_percent_off(self) -> None:
        """10 % of 20.00 is 2.00."""
        self.assertEqual(discounted(2000, 10), 1800)

    def test_nothing_off(self) -> None:
        """No discount, no change."""
        self.assertEqual(discounted(999, 0), 999)
