"""LeNet, trained on pictures of digits by tinygrad on the device and on the processor, from equal weights."""

import array
import math
import random
import unittest

import digits
from tinygrad import Context, Device, Tensor, TinyJit, dtypes, nn

BATCH = 32
STEPS = 30
# Steps whose losses are compared one by one.
COMPARED = 20
RATE = 0.05
MOMENTUM = 0.8
# Unseen pictures, and the required fraction of correct answers.
UNSEEN = 200
ACCURACY = 0.9
PROCESSOR = "CPU"


class LeNet:
    """Two convolutions, each followed by a pool, and two linear layers."""

    def __init__(self, device):
        numbers = random.Random(7)

        def parameter(*shape):
            bound = math.sqrt(6 / math.prod(shape[1:])) if len(shape) > 1 else 0
            values = [numbers.uniform(-bound, bound) for _ in range(math.prod(shape))]
            return Tensor(values, device=device).reshape(shape).contiguous().realize()

        self.convolution1, self.bias1 = parameter(6, 1, 5, 5), parameter(6)
        self.convolution2, self.bias2 = parameter(16, 6, 5, 5), parameter(16)
        self.linear3, self.bias3 = parameter(84, 256), parameter(84)
        self.linear4, self.bias4 = parameter(digits.CLASSES, 84), parameter(digits.CLASSES)

    def __call__(self, pictures):
        pictures = pictures.conv2d(self.convolution1, self.bias1).relu().max_pool2d()
        pictures = pictures.conv2d(self.convolution2, self.bias2).relu().max_pool2d()
        hidden = pictures.flatten(1).linear(self.linear3.T, self.bias3).relu()
        return hidden.linear(self.linear4.T, self.bias4)


def tensors(count, seed, device):
    pixels, answers = digits.batch(count, seed)
    pictures = Tensor(array.array("f", pixels).tobytes(), dtype=dtypes.float32, device=device)
    return pictures.reshape(count, 1, digits.SIDE, digits.SIDE), Tensor(answers, device=device)


class Run:
    """Result of training on a device."""

    def __init__(self, device):
        network = LeNet(device)
        optimizer = nn.optim.SGD(nn.state.get_parameters(network), lr=RATE, momentum=MOMENTUM)

        @TinyJit
        def step(pictures, answers):
            optimizer.zero_grad()
            loss = network(pictures).sparse_categorical_crossentropy(answers)
            loss.backward()
            return loss.realize(*optimizer.schedule_step())

        with Context(TRAINING=1):
            self.losses = [step(*tensors(BATCH, seed, device)).item() for seed in range(STEPS)]
        self.weights = {name: weight.flatten().tolist() for name, weight in nn.state.get_state_dict(network).items()}
        self.network, self.device = network, device

    def accuracy(self):
        """Returns the fraction of unseen pictures that are classified correctly."""
        pictures, answers = tensors(UNSEEN, STEPS, self.device)
        return (self.network(pictures).argmax(1) == answers).float().mean().item()


class LeNetLearns(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.device, cls.processor = Run(Device.DEFAULT), Run(PROCESSOR)

    def test_it_runs_on_the_device(self):
        self.assertTrue(Device.DEFAULT.startswith("CUDA"))

    def test_losses_are_those_of_the_processor(self):
        both = zip(self.device.losses[:COMPARED], self.processor.losses[:COMPARED])
        for step, (device, processor) in enumerate(both):
            self.assertTrue(math.isclose(device, processor, rel_tol=1e-4), f"step {step}: {device} and {processor}")

    def test_weights_are_those_of_the_processor(self):
        for name, processor in self.processor.weights.items():
            largest = max(map(abs, processor))
            differences = (abs(a - b) for a, b in zip(self.device.weights[name], processor, strict=True))
            self.assertLess(max(differences), 1e-4 * largest, name)

    def test_losses_fall(self):
        self.assertLess(max(self.device.losses[-5:]), self.device.losses[0] / 10)

    def test_unseen_pictures_are_told_right(self):
        self.assertGreater(self.device.accuracy(), ACCURACY)


if __name__ == "__main__":
    unittest.main()
