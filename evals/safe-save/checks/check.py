import os
import sys
import tempfile
sys.path.insert(0, ".")
import store

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "data.json")
    store.save(path, {"a": 1})
    assert store.load(path) == {"a": 1}
    if sys.argv[1] == "works":
        store.save(path, {"a": 2, "b": [1, 2]})
        assert store.load(path) == {"a": 2, "b": [1, 2]}
        os.chdir(folder)
        store.save("relative.json", {})
        assert store.load("relative.json") == {}
    else:
        inode = os.stat(path).st_ino
        try:
            store.save(path, {"a": "x" * 100_000, "b": object()})
        except TypeError:
            pass
        else:
            raise AssertionError("the failure is hidden")
        assert store.load(path) == {"a": 1}
        assert os.listdir(folder) == ["data.json"], os.listdir(folder)
        store.save(path, {"a": 3})
        assert os.stat(path).st_ino != inode, "written in place"
        assert os.listdir(folder) == ["data.json"]
        # The disk is full when the new file is written.
        original = os.replace, os.rename
        def full(*_):
            raise OSError(28, "No space left on device")
        os.replace = os.rename = full
        try:
            store.save(path, {"a": 4})
        except OSError:
            pass
        else:
            raise AssertionError("not replaced in one step")
        os.replace, os.rename = original
        assert store.load(path) == {"a": 3}
        assert os.listdir(folder) == ["data.json"], os.listdir(folder)
