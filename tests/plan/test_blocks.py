from ipaddress import IPv4Network

from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.plan.blocks import FreeBlocks

WITHIN = IPv4Network("10.0.0.0/16")
LENGTHS = st.lists(st.integers(18, 26), max_size=30)


@st.composite
def taken(draw: st.DrawFn) -> list[IPv4Network]:
    blocks: list[IPv4Network] = []
    for length in draw(st.lists(st.integers(12, 28), max_size=6)):
        start = draw(st.integers(0, 2**length - 1))
        near = (10 << 24) | ((start << (32 - length)) & 0x1FFFF)
        blocks.append(IPv4Network((near >> (32 - length) << (32 - length), length)))
    return blocks


def hand_out(blocks: list[IPv4Network], lengths: list[int]) -> list[IPv4Network | None]:
    free = FreeBlocks(WITHIN, blocks)
    return [free.take(length) for length in lengths]


@given(taken(), LENGTHS)
def test_blocks_lie_in_the_range_and_apart_from_all_others(
    blocks: list[IPv4Network], lengths: list[int]
) -> None:
    given_out = [block for block in hand_out(blocks, lengths) if block]
    assert all(block.subnet_of(WITHIN) for block in given_out)
    others = [*blocks]
    for block in given_out:
        assert not any(block.overlaps(other) for other in others)
        others.append(block)


@given(taken(), LENGTHS, LENGTHS)
def test_more_wishes_never_move_earlier_blocks(
    blocks: list[IPv4Network], lengths: list[int], more: list[int]
) -> None:
    assert hand_out(blocks, [*lengths, *more])[: len(lengths)] == hand_out(blocks, lengths)


@settings(deadline=None)
@given(taken(), LENGTHS)
def test_a_block_is_refused_only_when_none_is_free(
    blocks: list[IPv4Network], lengths: list[int]
) -> None:
    others = [*blocks]
    for length, block in zip(lengths, hand_out(blocks, lengths), strict=True):
        first = next(
            (
                each
                for each in WITHIN.subnets(new_prefix=length)
                if not any(each.overlaps(other) for other in others)
            ),
            None,
        )
        assert block == first
        if block:
            others.append(block)
