"""pulumi-language-python: the language host that runs Python programs and policy packs."""
