"""What the tests of the cache do to what is kept."""

import os

DIGEST = "0123456789"


def one(folder, pattern):
    (found,) = folder.glob(pattern)
    return found


def flip(path, position=-1):
    """Change one bit of a file, and nothing else of it: size and times stay."""
    status, data = path.stat(), bytearray(path.read_bytes())
    data[position] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def everything(folder):
    """Name, times and inode of all that is there."""
    return {
        path: (s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for path in folder.rglob("*") for s in [path.lstat()]
    }


def site(kept):
    return one(kept, "project/results/envs/lib.*/lib/python*/site-packages")
