"""The pointer and the pass lock: all that datum keeps."""
