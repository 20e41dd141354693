import unittest

import shop


class Total(unittest.TestCase):
    def test_prices_are_added(self):
        self.assertEqual(shop.total(["apple", "bread"]), 7)
