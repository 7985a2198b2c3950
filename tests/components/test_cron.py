import pytest

from components.cron import trouble

FIVE = "minute, hour, day of the month, month, day of the week"


@pytest.mark.parametrize(
    "text",
    [
        "0 3 * * 6",
        "*/15 * * * *",
        "5/20 0-6,22-23 1,15 jan-mar SUN,sat",
        "0 0 ? * mon-fri",
        "0 3 29 2 *",
        "0 3 31 2 0",
        "0 3 31 1-2 *",
        "59 23 31 12 6",
        "0-30/10 1 * * *",
    ],
)
def test_what_kubernetes_takes_is_taken(text: str) -> None:
    assert trouble(text) is None


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", f"has 0 fields; cron has five: {FIVE}"),
        ("@daily", f"has 1 field; cron has five: {FIVE}"),
        ("0 0 3 * * 6", f"has 6 fields; cron has five: {FIVE}"),
        ("60 3 * * *", "has '60' as minute; use 0 to 59, or *"),
        ("0 -1 * * *", "has '-1' as hour; use 0 to 23, or *"),
        ("0 3 0 * *", "has '0' as day of the month; use 1 to 31, or *"),
        ("0 3 * foo *", "has 'foo' as month; use 1 to 12 or jan to dec, or *"),
        ("0 3 * * 7", "has '7' as day of the week; use 0 to 6 or sun to sat, or *"),
        (
            "0 3 * * fri-mon",
            "has 'fri-mon' as day of the week, which ends before it begins; write two spans",
        ),
        ("*/0 3 * * *", "has '*/0' as minute; a step is a number from 1 on, as in */15"),
        ("*/ 3 * * *", "has '*/' as minute; a step is a number from 1 on, as in */15"),
        ("1, 3 * * *", "has '' as minute; use 0 to 59, or *"),
        ("\u0661 3 * * *", "has '\u0661' as minute; use 0 to 59, or *"),
        ("00000000000001 3 * * *", "has '00000000000001' as minute; use 0 to 59, or *"),
        ("0 3 30,31 2 *", "never comes: no month that it names has a day 30"),
        ("0 3 31 4,6,9,11 *", "never comes: no month that it names has a day 31"),
    ],
)
def test_what_is_wrong_is_named_with_its_field(text: str, wrong: str) -> None:
    assert trouble(text) == wrong
