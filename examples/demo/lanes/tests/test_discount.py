import unittest

import shop


class Discount(unittest.TestCase):
    def test_a_tenth_is_taken_off(self):
        self.assertEqual(shop.discount(50), 45)
