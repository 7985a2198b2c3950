"""The AWS stand-in of the embedded target: moto, with what it lacks, over HTTP on this machine.

It is a stand-in and says so: no hardware, no money and no real permission is behind any answer.

- ``calls`` the table of operations answered here; ``records`` their state
- ``wire`` AWS protocols, and moto
- ``app`` the WSGI application; ``control`` its own endpoints; ``faults`` what is to go wrong
- ``store`` keeps state through restarts; ``token_review`` judges Kubernetes tokens
- ``acm``, ``autoscaling``, ``ec2``, ``eks``, ``fsx``, ``route53``, ``mends`` operations that moto
  lacks or answers unlike AWS
"""
