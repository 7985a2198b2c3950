"""How the engine is told what differs between two versions of a resource."""

from typing import Final

from pulumi.runtime.proto import provider_pb2

__all__ = ["DIFFERENCE_KINDS"]

DIFFERENCE_KINDS: Final = {
    ("add", False): provider_pb2.PropertyDiff.ADD,
    ("add", True): provider_pb2.PropertyDiff.ADD_REPLACE,
    ("delete", False): provider_pb2.PropertyDiff.DELETE,
    ("delete", True): provider_pb2.PropertyDiff.DELETE_REPLACE,
    ("update", False): provider_pb2.PropertyDiff.UPDATE,
    ("update", True): provider_pb2.PropertyDiff.UPDATE_REPLACE,
}
"""The protocol's kind of a difference, by what happened and whether it forces a replacement."""
