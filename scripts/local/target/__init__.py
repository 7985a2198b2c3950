"""The embedded target: a real control plane, simulated nodes and a simulated AWS API.

Modules, lowest first:

    files ports pki kubeconfig     what stands on disk before anything starts
    process health part            start, find, judge and stop one detached process
    control_plane stand_ins parts  what each part runs: the real ones, the others, all
    api etcd manifests             the control plane as data, and what modules ship for it
    kueue mpi_operator stages      what is put into the control plane and kwok
    installations                  puts it there, and remembers that it did
    lifecycle status               up, down and status over the parts
    faults                         what shall go wrong, and on which node
    launch hardware node_objects   the Node that an instance of a node group is
    cloud registry reconciler      follow node groups, run instances, register Nodes
    nodes kubelet logs             the two processes of our own
"""
