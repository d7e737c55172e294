"""Loaders: where their epochs end."""

import unittest

import numpy as np
import shiftvit
from support import few


class Epochs(unittest.TestCase):
    def test_ranks_without_an_image_of_a_batch_get_it_empty(self):
        images, labels = few(9)
        data = shiftvit.Dataset.from_arrays(images, labels)
        pipeline = shiftvit._fit.plain_pipeline((32, 32), (32, 32), 3, 1.0)
        sizes = []
        for rank in range(2):
            loader = shiftvit.Loader(data, pipeline, batch=8, leaves=2, rank=rank, ranks=2)
            epochs = [[len(y) for x, y in loader] for _ in range(3)]
            loader.seek(1, 1)
            epochs.append([len(x) for x, y in loader])
            loader.seek(2, np.int64(2))
            epochs.append([len(x) for x, y in loader])
            epochs.append([len(x) for x, y in loader])
            sizes.append(epochs)
        rest = [sizes[rank][0][1] for rank in range(2)]
        self.assertEqual(sorted(rest), [0, 1])
        for rank in range(2):
            whole = [4, rest[rank]]
            self.assertEqual(sizes[rank], [whole, whole, whole, [rest[rank]], [], whole])

    def test_a_batch_needs_no_more_memory_than_the_samples(self):
        data = shiftvit.Dataset.from_arrays(np.zeros((3, 4, 4, 3), np.uint8), np.arange(3))
        largest = 65536
        loader = shiftvit.Loader(data, shiftvit._fit.plain_pipeline((4, 4), (4, 4), 3, 1.0), batch=largest)
        self.assertEqual(loader.shape, (3, 4, 4, 3))
        self.assertEqual([len(labels) for _, labels in loader], [3])

    def test_a_batch_that_cannot_be_read_is_read_again(self):
        fails = ["broken"]

        def sample(index):
            if index == 2 and fails:
                raise ValueError(fails.pop())
            return np.full((4, 4, 3), index, np.uint8), 0

        data = shiftvit.Dataset.from_function(sample, 3, (4, 4, 3), 1)
        loader = shiftvit.Loader(data, shiftvit._fit.plain_pipeline((4, 4), (4, 4), 3, 1.0), batch=1)
        self.assertEqual([len(loader.next()[1]) for _ in range(2)], [1, 1])
        with self.assertRaisesRegex(ValueError, "broken"):
            loader.next()
        self.assertEqual(float(loader.next()[0].max()), 2.0)
        self.assertIsNone(loader.next())
        self.assertEqual(len(list(loader)), 3)
