# SPDX-License-Identifier: MIT
"""A lab's file: nodes and links in the format of containerlab's topologies, read by PyYAML.

    name: two_hosts
    topology:
      nodes:
        a: {}                        # a host; or kind: bridge, a switch
        b: {env: {RXE_DM_TRAINS: off}}
      links:
        - endpoints: ["a:eth1", "b:eth1"]
          delay: 1ms                 # each way; names and units as in tc-netem(8)
          loss: 0.1%
          rate: 100mbit
          limit: 200                 # packets that the queue holds

The file describes; this module starts nothing."""

import dataclasses
import ipaddress
import re

NAME = re.compile(r"[a-z][a-z0-9_-]{0,19}$")
INTERFACE = re.compile(r"[a-z][a-z0-9]{0,14}$")
MAX_DEVICES = 16  # of a server
KINDS = ("linux", "bridge")  # containerlab's names: a host, a switch
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
BITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}


class Mistake(Exception):
    """What is wrong with the file, or with a call, and what to do."""


@dataclasses.dataclass
class Interface:
    """Where a link ends: at a host it has an address, at a bridge none."""
    node: str
    name: str
    link: int
    address: str = ""


@dataclasses.dataclass
class Link:
    """delay_s and loss (0 to 1) hold for each direction; 0: none. limit: packets, 0: the kernel's default."""
    ends: list
    delay_s: float = 0.0
    loss: float = 0.0
    rate_bit: int = 0
    limit: int = 0

    def words(self):
        """The properties as the file writes them, for people."""
        parts = [f"delay {self.delay_s * 1000:g}ms" if self.delay_s else "", f"loss {self.loss:.3%}" if self.loss else "",
                 f"rate {self.rate_bit / 10**6:g}mbit" if self.rate_bit else "", f"limit {self.limit}" if self.limit else ""]
        return ", ".join(part for part in parts if part) or "no delay, no loss"


@dataclasses.dataclass
class Node:
    name: str
    kind: str
    env: dict
    interfaces: list = dataclasses.field(default_factory=list)

    def addresses(self):
        """The address of each device, rxe_dm0 first: one device an interface."""
        return [interface.address for interface in self.interfaces]


@dataclasses.dataclass
class Topology:
    name: str
    nodes: dict
    links: list

    def hosts(self):
        return [node for node in self.nodes.values() if node.kind == "linux"]

    def link_between(self, first, second):
        """The index of the only link between two nodes."""
        found = [i for i, link in enumerate(self.links) if {end.node for end in link.ends} == {first, second}]
        if len(found) != 1:
            raise Mistake(f"{len(found)} links join {first} and {second}: name two nodes that one link joins")
        return found[0]


def number(text, units, what):
    """A number with a unit, such as 10ms, in the smallest of the units' base."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([a-z%]+)", str(text).strip().lower())
    if not match or match[2] not in units:
        raise Mistake(f"{what} '{text}': write a number and a unit, one of {', '.join(units)}")
    return float(match[1]) * units[match[2]]


def mapping(value, what):
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Mistake(f"{what} is not a mapping of names to values")
    return value


def only_keys(value, known, what):
    for key in value:
        if key not in known:
            raise Mistake(f"{what} has an unknown key '{key}': it takes {', '.join(known)}")


def node_from(name, value):
    if not NAME.match(str(name)):
        raise Mistake(f"node '{name}': a name is a small letter, then up to 19 of a-z, 0-9, - and _")
    value = mapping(value, f"node {name}")
    only_keys(value, ("kind", "env"), f"node {name}")
    kind = value.get("kind", "linux")
    if kind not in KINDS:
        raise Mistake(f"node {name}: kind '{kind}' is not one of {', '.join(KINDS)}")
    env = {str(k): environment_value(v) for k, v in mapping(value.get("env"), f"env of node {name}").items()}
    return Node(name, kind, env)


def environment_value(value):
    """YAML reads on and off as truth values; settings of the device are the words."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def interface_from(text, nodes, index):
    node, _, name = str(text).partition(":")
    if node not in nodes:
        raise Mistake(f"link {index + 1} ends at '{node}', which is no node")
    name = name or f"eth{len(nodes[node].interfaces) + 1}"
    if not INTERFACE.match(name) or name == "lo":
        raise Mistake(f"link {index + 1}: '{name}' is no name of an interface: write letters and digits, at most 15")
    if any(interface.name == name for interface in nodes[node].interfaces):
        raise Mistake(f"link {index + 1}: {node}:{name} is an end of another link already")
    interface = Interface(node, name, index)
    nodes[node].interfaces.append(interface)
    return interface


def link_from(value, nodes, index):
    what = f"link {index + 1}"
    value = mapping(value, what)
    only_keys(value, ("endpoints", "delay", "loss", "rate", "limit"), what)
    ends = value.get("endpoints")
    if not isinstance(ends, list) or len(ends) != 2:
        raise Mistake(f"{what}: endpoints are two nodes, such as [\"a:eth1\", \"b:eth1\"]")
    link = Link([interface_from(end, nodes, index) for end in ends])
    if link.ends[0].node == link.ends[1].node:
        raise Mistake(f"{what} begins and ends at {link.ends[0].node}")
    link.delay_s = number(value.get("delay", "0ms"), SECONDS, f"{what}: delay")
    link.loss = number(value.get("loss", "0%"), {"%": 0.01}, f"{what}: loss")
    link.rate_bit = int(number(value.get("rate", "0bit"), BITS, f"{what}: rate"))
    link.limit = value.get("limit", 0)
    if not isinstance(link.limit, int) or isinstance(link.limit, bool) or link.limit < 0:
        raise Mistake(f"{what}: limit '{link.limit}' is not a number of packets")
    if link.loss > 1:
        raise Mistake(f"{what}: loss is at most 100%")
    return link


def segments(topology):
    """Interfaces of hosts that reach each other without a router, as lists: a link, or all links of joined bridges."""
    group = list(range(len(topology.links)))
    for node in topology.nodes.values():
        if node.kind == "bridge" and node.interfaces:
            joined = {group[interface.link] for interface in node.interfaces}
            group = [min(joined) if g in joined else g for g in group]
    found = {}
    for i, link in enumerate(topology.links):
        found.setdefault(group[i], []).extend(end for end in link.ends if topology.nodes[end.node].kind == "linux")
    return list(found.values())


def give_addresses(topology, network):
    """Host h of segment s has address number h of the segment's /24, both from 1."""
    subnets = list(ipaddress.ip_network(network).subnets(new_prefix=24))
    for s, interfaces in enumerate(segments(topology)):
        if s + 1 >= len(subnets) or len(interfaces) > 254:
            raise Mistake("the lab has more addresses than its network: 254 segments of 254 hosts")
        for h, interface in enumerate(interfaces):
            interface.address = str(subnets[s + 1][h + 1])


def parse(text, network):
    """The topology of a file's text, with addresses from a /16."""
    try:
        import yaml  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise Mistake("PyYAML reads the file: install the package python3-yaml") from None
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Mistake(f"not YAML: {' '.join(str(error).split())}") from None
    value = mapping(value, "the file")
    only_keys(value, ("name", "topology"), "the file")
    if not NAME.match(str(value.get("name", ""))):
        raise Mistake("name: a small letter, then up to 19 of a-z, 0-9, - and _")
    inner = mapping(value.get("topology"), "topology")
    only_keys(inner, ("nodes", "links"), "topology")
    nodes = {str(k): node_from(str(k), v) for k, v in mapping(inner.get("nodes"), "nodes").items()}
    links = inner.get("links") or []
    if not isinstance(links, list):
        raise Mistake("links is not a list")
    topology = Topology(value["name"], nodes, [link_from(link, nodes, i) for i, link in enumerate(links)])
    check(topology)
    give_addresses(topology, network)
    return topology


def check(topology):
    if not topology.hosts():
        raise Mistake("the lab has no host: topology.nodes names none")
    for node in topology.hosts():
        if not node.interfaces:
            raise Mistake(f"host {node.name} has no link")
        if len(node.interfaces) > MAX_DEVICES:
            raise Mistake(f"host {node.name} has {len(node.interfaces)} links; a host has at most {MAX_DEVICES} devices")
