"""Run a Ray cluster of two simulated machines of one core each; prints its address.

A line on stdin kills the second machine (`kill`) or adds another one (`add`), the end of stdin ends the cluster.
"""

import sys

from ray.cluster_utils import Cluster

NODES_SECONDS = 300

nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
try:
    other = nodes.add_node(num_cpus=1)
    nodes.wait_for_nodes(NODES_SECONDS)
    print(nodes.address, flush=True)
    for line in sys.stdin:
        if line == "kill\n":
            nodes.remove_node(other, allow_graceful=False)
        else:
            other = nodes.add_node(num_cpus=1)
        print("done", flush=True)
finally:
    nodes.shutdown()
