from dataclasses import replace

import pytest

from components.catalog import instance_type
from components.catalog.floors import GIB
from scripts.errors import UsageError
from scripts.nccl.expectation import expect, sweep


@pytest.mark.parametrize(
    ("kind", "gib"),
    [("p5.48xlarge", 16), ("p4d.24xlarge", 8), ("g6e.48xlarge", 8), ("g5.48xlarge", 4)],
)
def test_the_sweep_ends_where_three_buffers_still_fit(kind: str, gib: int) -> None:
    assert (sweep(instance_type(kind)).low, sweep(instance_type(kind)).high) == (GIB, gib * GIB)


def test_a_type_taken_without_efa_has_no_floor_between_nodes() -> None:
    plain = replace(instance_type("p5.48xlarge"), efa_interfaces=0)
    assert expect(plain, 1).floor is not None
    assert expect(plain, 2).floor is None
    assert expect(plain, 2, floor_gbps=5).floor is not None
    assert expect(plain, 2).nics == 0


def test_a_type_without_nvidia_gpus_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        expect(instance_type("trn2.48xlarge"), 2)
    assert str(caught.value) == (
        "trn2.48xlarge has no NVIDIA GPU, and NCCL runs on nothing else; name the type that the "
        "log was made on"
    )
