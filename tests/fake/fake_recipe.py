"""A tiny recipe (torch only) that fails in the workers of a DataLoader in every way there is a status for."""

import os
import random
import threading
import time
from typing import Any

import numpy as np
import torch

_random = random.Random()
_deaf = random.Random(7)  # no seed reaches it
LAST_CALL = 13  # of a worker that dies: one of the check and eight draws, then it is in the first epoch
_lock = threading.Lock()


class FakeRecipe:
    """See the recipes of augmark.libraries."""

    form, dtype = "float32 CHW, normalised", "float32"

    def __init__(self) -> None:
        self.seeded: list[int] = []
        self.transform = ""
        self.calls = 0

    def set_threads(self, threads: int) -> None:
        torch.set_num_threads(threads)

    def seed(self, seed: int) -> None:
        if self.transform != "SeededBeforeTheFork":
            _random.seed(seed)
        self.seeded.append(seed)

    def build(self, row: dict[str, Any], crop: dict[str, Any] | None, mean: Any, std: Any) -> Any:
        self.transform, self.calls = row["transform"], 0
        step = getattr(self, row["transform"])
        if row["transform"] == "LockHeldAtTheFork":
            threading.Thread(target=_hold, daemon=True).start()
            while not _lock.locked():
                time.sleep(0.001)
        if row["transform"] == "WarnsWhenBuilt":
            import warnings

            warnings.warn("argument 'sigma' is not known", UserWarning, stacklevel=2)
        shape = (-1, 1, 1)
        low, spread = torch.tensor(mean).reshape(shape), torch.tensor(std).reshape(shape)

        def apply(item: np.ndarray) -> torch.Tensor:
            self.calls += 1
            if crop is not None:
                height, width = crop["height_pixels"], crop["width_pixels"]
                chance = _deaf if row["transform"].startswith("CropsAlike") else _random
                top = chance.randint(0, item.shape[0] - height)
                left = chance.randint(0, item.shape[1] - width)
                item = item[top : top + height, left : left + width]
            item = step(item)
            if not isinstance(item, np.ndarray):
                return item
            tensor = torch.from_numpy(np.ascontiguousarray(item).copy()).permute(2, 0, 1)
            return ((tensor.float() / 255 - low) / spread).contiguous()

        return apply

    def from_item(self, item: np.ndarray) -> np.ndarray:
        return item

    def from_file(self, path: str, views: list[str] | None) -> np.ndarray:
        return np.load(path)

    @staticmethod
    def Shifts(item: np.ndarray) -> np.ndarray:
        return item + np.uint8(_random.randint(0, 255))

    SeededBeforeTheFork = WarnsWhenBuilt = Shifts

    @staticmethod
    def Inverts(item: np.ndarray) -> np.ndarray:
        return 255 - item

    CropsAlike = Inverts

    @staticmethod
    def FlipsACoin(item: np.ndarray) -> np.ndarray:
        return 255 - item if _random.random() < 0.5 else item

    CropsAlikeAndFlipsACoin = FlipsACoin

    @staticmethod
    def Mirrors(item: np.ndarray) -> np.ndarray:
        return item[:, ::-1] if _random.random() < 0.5 else item

    @staticmethod
    def TakesItsTime(item: np.ndarray) -> np.ndarray:
        time.sleep(0.02)
        return 255 - item

    @staticmethod
    def LockHeldAtTheFork(item: np.ndarray) -> np.ndarray:
        with _lock:
            return item

    @staticmethod
    def EightThreads(item: np.ndarray) -> np.ndarray:
        torch.set_num_threads(8)
        numbers = torch.ones(1 << 17)
        for _ in range(4):
            numbers = numbers.sin()
        return 255 - item

    def DiesInOneWorker(self, item: np.ndarray) -> np.ndarray:
        info = torch.utils.data.get_worker_info()
        if info is not None and info.id == 1 and self.calls > LAST_CALL:
            os.abort()
        return 255 - item

    def ExitsInOneWorker(self, item: np.ndarray) -> np.ndarray:
        info = torch.utils.data.get_worker_info()
        if info is not None and info.id == 1 and self.calls > LAST_CALL:
            os._exit(3)
        return 255 - item

    def RaisesOneInFive(self, item: np.ndarray) -> np.ndarray:
        if self.calls % 5 == 0:
            raise ValueError("the fifth call")
        return 255 - item

    def ReturnsRaggedShapes(self, item: np.ndarray) -> np.ndarray:
        return item[: 224 - self.calls % 3 + 1] if self.calls > 1 else item

    def ReturnsFloat64(self, item: np.ndarray) -> torch.Tensor:
        return torch.zeros(3, 224, 224, dtype=torch.float64)

    def ReturnsTooFewRows(self, item: np.ndarray) -> np.ndarray:
        return item[1:]


def _hold() -> None:
    with _lock:
        time.sleep(600)


recipe = FakeRecipe()
