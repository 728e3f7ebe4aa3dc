"""Values that an author lifted out of data with `spec.result.select`, as templates read them."""

from collections.abc import Mapping

import msgspec

from noetl.expressions.template import Facade

Way = tuple[str, ...]

DATA: Way = ("data",)


class Lifted(Facade, msgspec.Struct, frozen=True, tag_field="$noetl", tag="lifted"):
    """Data, or an output around it, in which the lifted names are members of the data, whatever it holds.

    `ways` are the paths that lead from `value` to the data. Nothing but reading a member notices that it is not
    the plain value, so that data is passed on as it is and never holds one of these.
    """

    value: object
    names: Mapping[str, object]
    ways: tuple[Way, ...] = ((),)

    def member(self, key: object) -> object:
        if () in self.ways:
            return self.names[key]  # type: ignore[index]
        inner = tuple(way[1:] for way in self.ways if way[0] == key)
        if not inner:
            raise KeyError(key)
        assert isinstance(self.value, Mapping)
        return Lifted(self.value[key], self.names, inner)

    def whole(self) -> object:
        return self.value


def with_names(value: object, names: Mapping[str, object], *ways: Way) -> object:
    """A value as templates read it: the value itself where nothing was lifted out of it."""
    return Lifted(value, names, ways) if names else value
