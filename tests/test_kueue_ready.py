import httpx2

from scripts.kueue_ready import wait


class Webhook:
    """Fails so many times, then serves; its clock moves with every sleep."""

    def __init__(self, failures: int) -> None:
        self.failures, self.calls, self.now = failures, 0, 0.0

    def attempt(self) -> None:
        self.calls += 1
        if self.calls <= self.failures:
            raise httpx2.ConnectError(f"refused {self.calls}")

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def wait(self) -> str | None:
        return wait(self.attempt, limit=10, pause=3, clock=lambda: self.now, sleep=self.sleep)


def test_a_webhook_that_fails_twice_and_then_serves_is_ready() -> None:
    webhook = Webhook(failures=2)
    assert webhook.wait() is None
    assert webhook.calls == 3


def test_a_webhook_that_never_serves_ends_with_its_last_error() -> None:
    webhook = Webhook(failures=99)
    assert webhook.wait() == "refused 5"
