"""What the shared file system sells, by its settings."""

import pytest

from components.storage import StorageConfig


@pytest.mark.parametrize(
    ("capacity_gib", "throughput", "mbps"),
    [(2400, 250, 585.9375), (9600, 500, 4687.5), (38400, 1000, 37500)],
)
def test_what_is_sold_is_counted_by_the_tebibyte(
    capacity_gib: int, throughput: int, mbps: float
) -> None:
    config = StorageConfig.model_validate(
        {"zone": "use1-az4", "capacity_gib": capacity_gib, "throughput": throughput}
    )
    assert config.sold_mbps == mbps
