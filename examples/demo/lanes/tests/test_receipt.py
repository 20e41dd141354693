import unittest

import receipt


class Receipt(unittest.TestCase):
    def test_every_line_is_there(self):
        self.assertEqual(receipt.lines({"apple": 3}), ["apple 3"])
