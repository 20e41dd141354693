PRICES = {"apple": 3, "bread": 4}
