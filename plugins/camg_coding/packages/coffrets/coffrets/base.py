"""What all containers share."""


class Container:
    """Base: a container that knows its length; it is true if it holds something.

    Subclasses define ``__len__`` and ``__iter__``; ``repr`` shows the class and the items in order of iteration.
    """

    def __bool__(self):
        return len(self) > 0

    def __repr__(self):
        return f"{type(self).__name__}({list(self)!r})"

    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        return list(self) == list(other)

    __hash__ = None
