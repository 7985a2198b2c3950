"""A click group that imports some of its commands on first use."""

import importlib
from collections.abc import Mapping
from typing import Any

import click
from typing_extensions import override

__all__ = ["LazyCommands"]


class LazyCommands(click.Group):
    """Commands named in ``lazy`` (name -> module, attribute) are imported when they are used."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - passed on to click as they are
        lazy: Mapping[str, tuple[str, str]],
        **options: Any,  # noqa: ANN401 - the same
    ) -> None:
        super().__init__(*args, **options)
        self._lazy = lazy

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *self._lazy])

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._lazy:
            return super().get_command(ctx, cmd_name)
        module, attribute = self._lazy[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command
