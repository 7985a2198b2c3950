"""The embedded target: a real control plane, simulated nodes and a simulated AWS API.

Modules, lowest first:

    files ports pki kubeconfig     what stands on disk before anything starts
    process                        start, find and stop detached processes
    parts                          the table of parts: command line, needs, probe, real or stand-in
    kueue etcd                     what is put into the control plane, and how it is emptied
    lifecycle status               up, down and status over the parts
    faults                         what shall go wrong, and on which node
    hardware node_objects nodes    node groups become nodes
    kubelet                        logs of simulated pods
"""
