# SPDX-License-Identifier: MIT
import time


def now() -> float:
    return time.time()
