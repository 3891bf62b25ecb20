# SPDX-License-Identifier: MIT
"""Pods of Kubernetes in small, on a Machine: each has a network, each container has processes and mounts of its own.

Of a pod's specification: command, env (values and status.podIP), emptyDir volumes, init containers, startup probes, restartPolicy.
The names of services and pods are in /etc/hosts. What else a container has is an error: nobody tests it."""

import shlex

from program import Failure, until

KNOWN = {"name", "image", "command", "env", "volumeMounts", "restartPolicy", "startupProbe"}
# $1: the pod. Then pairs of a volume's folder and where it goes, --, and the command.
CONTAINER = """while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done; shift; exec "$@\""""


class Cluster:
    """with Machine(build) as m: Cluster(m).apply(documents)"""

    def __init__(self, machine):
        self.machine = machine
        self.addresses = {}
        self.containers = {}
        self.volumes = {}
        machine.check("ip link add pods type bridge && ip link set pods up")

    def apply(self, documents):
        pods = [one for one in documents if one["kind"] == "Pod"]
        for pod in pods:
            self.network(pod["metadata"]["name"])
        for service in (one for one in documents if one["kind"] == "Service"):
            self.resolve(service, pods)
        for pod in pods:
            self.start(pod)

    def network(self, pod):
        number = len(self.addresses) + 1
        self.addresses[pod] = f"10.244.0.{number}"
        self.machine.check(f"""ip netns add {pod}
            ip link add eth0 netns {pod} type veth peer name pod{number}
            ip link set pod{number} master pods up
            ip -n {pod} link set lo up
            ip -n {pod} address add {self.addresses[pod]}/24 dev eth0
            ip -n {pod} link set eth0 up""")

    def resolve(self, service, pods):
        """The name of a headless service is the address of the pod that it selects."""
        chosen = [pod["metadata"]["name"] for pod in pods
                  if service["spec"]["selector"].items() <= pod["metadata"].get("labels", {}).items()]
        if len(chosen) != 1 or service["spec"]["clusterIP"] != "None":
            raise Failure(f"the service {service['metadata']['name']} selects {chosen}")
        self.machine.check(f"echo {self.addresses[chosen[0]]} {service['metadata']['name']} >>/etc/hosts")

    def start(self, pod):
        name, spec = pod["metadata"]["name"], pod["spec"]
        for volume in spec.get("volumes", []):
            if volume["emptyDir"] != {"medium": "Memory"}:
                raise Failure(f"a volume is {volume}")
            folder = self.volumes[name, volume["name"]] = f"/mnt/{name}-{volume['name']}"
            self.machine.check(f"mkdir {folder} && mount -t tmpfs -o mode=1777 volume {folder}")
        for container in spec.get("initContainers", []) + spec["containers"]:
            if set(container) - KNOWN:
                raise Failure(f"a container has {set(container) - KNOWN}")
            policy = container.get("restartPolicy", spec["restartPolicy"])
            self.containers[name, container["name"]] = container
            self.containers[name, container["name"], "runs"] = self.run(name, container, policy == "OnFailure")
            if "startupProbe" in container:
                probe = container["startupProbe"]["exec"]["command"]
                until(lambda c=(name, container["name"], probe): self.inside(*c)[0] == 0, f"{container['name']} that is ready")

    def script(self, pod, container, command):
        address = {"status.podIP": self.addresses[pod]}
        env = [row["name"] + "=" + (row["value"] if "value" in row else address[row["valueFrom"]["fieldRef"]["fieldPath"]])
               for row in container.get("env", [])]
        mounts = [word for row in container.get("volumeMounts", []) for word in (self.volumes[pod, row["name"]], row["mountPath"])]
        return shlex.join(["ip", "netns", "exec", pod, "env", *env, "unshare", "-m", "-u", "-i", "-p", "-f", "--kill-child", "--mount-proc",
                           "sh", "-ec", CONTAINER, "sh", *mounts, "--", *command])

    def run(self, pod, container, again):
        """The container's own command; again: until it ends well."""
        script = self.script(pod, container, container["command"])
        return self.machine.start(f"until {script}; do sleep 0.2; done" if again else script, title=f"{pod}/{container['name']}")

    def inside(self, pod, container, command):
        """kubectl exec: a process of its own in the pod's network, with the container's volumes."""
        return self.machine.run(self.script(pod, self.containers[pod, container], command), f"exec {pod}/{container}")

    def ended(self, pod, container):
        """What a container that ends well has said."""
        program = self.containers[pod, container, "runs"]
        if program.wait(60) != 0:
            raise Failure(f"{program.title}: exit {program.process.returncode}")
        return program.text()
