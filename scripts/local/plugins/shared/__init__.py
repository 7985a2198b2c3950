"""What the Python plugins share: the server, the values on the wire, the log, children.

``serving.serve(register)``
    Starts a gRPC server on a free port of 127.0.0.1, prints the port, and ends the process with
    code 0 on SIGINT, on SIGTERM, or when the engine is gone.
``wire.from_struct(struct)``, ``wire.to_struct(props)``
    Turn the engine's property maps into plain Python and back. Whole numbers become ``int``.
    What JSON cannot say is one of ``wire.UNKNOWN`` (not known before the update),
    ``wire.Secret(value)``, ``wire.Asset`` and ``wire.Archive``.
``wire.plain(value)``, ``.plain_props(props)``, ``.has_unknown(value)``, ``.has_secret(value)``
    Take the secret wrappers off, and look for unknowns and secrets at any depth.
``engine.Engine(address).info(message, urn)``, ``.warning``, ``.status``, ``.debug``, ``.error``
    Write to the engine's log; a line is dropped when the engine is gone.
``children.Child.start(argv, …)``
    A process that dies with its whole family when it is stopped or when this process dies, even
    by SIGKILL.
``children.Running``, ``serving.stop_with(context, stop)``
    Stop what runs when the plugin ends, and when the engine cancels a call.
"""
