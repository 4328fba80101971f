import unittest

from interval import contains, merge


class IntervalTest(unittest.TestCase):
    def test_start_belongs_to_the_interval_and_end_does_not(self):
        self.assertEqual([contains((1, 3), value) for value in range(5)], [False, True, True, False, False])

    def test_overlapping_and_touching_intervals_are_joined(self):
        self.assertEqual(merge([(5, 6), (1, 4), (2, 3), (4, 5)]), [(1, 6)])
        self.assertEqual(merge([(3, 4), (1, 2)]), [(1, 2), (3, 4)])

    def test_empty_intervals_are_dropped(self):
        self.assertEqual(merge([(1, 1), (3, 2)]), [])


if __name__ == "__main__":
    unittest.main()
