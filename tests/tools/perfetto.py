# SPDX-License-Identifier: Apache-2.0
"""Decodes a Perfetto trace by the wire format of protocol buffers alone, checks that it holds together, and says what is
in it, a line a track: perfetto.py FILE

It shares no code and no table with the exporter: field numbers are those of protos/perfetto/trace.
"""

import collections
import json
import struct
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """{field number: [value, ...]} of one message."""
    at, found = 0, collections.defaultdict(list)
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        assert number, "field number 0"
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif wire == 2:
            n, at = varint(data, at)
            value, at = data[at:at + n], at + n
            assert len(value) == n, "a message is cut off"
        else:
            raise AssertionError(f"wire type {wire}")
        found[number].append(value)
    return found


def one(message, number, default=None):
    values = message.get(number, [])
    assert len(values) <= 1, f"field {number} stands {len(values)} times"
    return values[0] if values else default


class Trace:
    def __init__(self, data):
        self.tracks = {}                                  # uuid -> {name, kind, parent}
        self.events = collections.defaultdict(list)       # uuid -> [(begin, end or None, name, notes, stack)]
        self.open = collections.defaultdict(list)
        self.counts = collections.defaultdict(list)
        self.samples = []
        self.flows = collections.defaultdict(list)
        self.interned = collections.defaultdict(dict)     # field -> iid -> message
        self.last = 0
        self.clock = None
        for packet in fields(data)[1]:
            self.packet(fields(packet))
        for uuid, stack in self.open.items():
            assert not stack, f"a slice of {self.tracks[uuid]['name']} never ends"
        for flow, ends in self.flows.items():
            assert [kind for kind, _ in ends] == ["out", "in"], f"flow {flow}: {ends}"

    def packet(self, p):
        assert one(p, 10) == 1, "one sequence"
        flags = one(p, 13)
        assert flags == (1 if self.clock is None else 2), "the state is cleared once, and needed from then on"
        if 59 in p:
            self.clock = one(fields(one(p, 59)), 58)
            assert self.clock == 3, "CLOCK_MONOTONIC"
        for field, messages in fields(one(p, 12, b"")).items():
            for message in messages:
                message = fields(message)
                iid = one(message, 1)
                assert iid and iid not in self.interned[field], f"number {iid} of {field} is given twice"
                self.interned[field][iid] = message
        if 60 in p:
            self.descriptor(fields(one(p, 60)))
        if 8 in p:
            time = one(p, 8)
            assert time >= self.last, "times go back"
            self.last = time
            if 11 in p:
                self.event(time, fields(one(p, 11)))
            if 66 in p:
                self.sample(time, fields(one(p, 66)))

    def text(self, field, iid):
        return one(self.interned[field][iid], 2).decode()

    def stack(self, iid):
        """Function names, the outermost first."""
        frames = [self.interned[6][f] for f in self.interned[7][iid][2]]
        return [self.text(5, one(frame, 2)) for frame in frames]

    def descriptor(self, d):
        uuid, parent = one(d, 1), one(d, 5)
        assert uuid not in self.tracks, "a track is described twice"
        assert parent is None or parent in self.tracks, "a track comes before its parent"
        if 3 in d:
            process = fields(one(d, 3))
            kind, name = "process", f"{one(process, 6).decode()} ({one(process, 1)})"
        elif 4 in d:
            thread = fields(one(d, 4))
            kind, name = "thread", f"{one(thread, 5).decode()} ({one(thread, 2)})"
            assert f"({one(thread, 1)})" in self.tracks[parent]["name"], "the parent is its process"
        else:
            kind, name = "counter" if 8 in d else "track", one(d, 2).decode()
            unit = one(fields(one(d, 8)), 6, b"").decode() if 8 in d else ""
            name += f" [{unit}]" if unit else ""
        self.tracks[uuid] = {"name": name, "kind": kind, "parent": parent}

    def notes(self, e):
        found = {}
        for note in map(fields, e.get(4, [])):
            found[self.text(3, one(note, 1))] = one(note, 6).decode()
        return found

    def event(self, time, e):
        kind, uuid = one(e, 9), one(e, 11)
        track = self.tracks[uuid]
        assert (kind == 4) == (track["kind"] == "counter"), track
        for flow in e.get(47, []):
            self.flows[flow].append(("out", track["name"]))
        for flow in e.get(48, []):
            self.flows[flow].append(("in", track["name"]))
        if kind == 4:
            whole, real = one(e, 30), one(e, 44)
            assert (whole is None) != (real is None), "a count has one value"
            self.counts[uuid].append((time, whole if real is None else struct.unpack("<d", struct.pack("<Q", real))[0]))
        elif kind == 2:
            self.events[uuid][self.open[uuid].pop()][1] = time
        else:
            iid = one(e, 56)
            self.text(1, one(e, 3))
            if kind == 1:
                assert not self.open[uuid], f"slices of {track['name']} overlap"
                self.open[uuid].append(len(self.events[uuid]))
            self.events[uuid].append([time, None, self.text(2, one(e, 10)), self.notes(e),
                                      self.stack(iid) if iid else []])

    def sample(self, time, s):
        iid = one(s, 4)
        self.samples.append((time, one(s, 2), one(s, 3), self.stack(iid) if iid else []))

    def say(self):
        for uuid, track in self.tracks.items():
            path, up = track["name"], track["parent"]
            while up is not None:
                path, up = self.tracks[up]["name"] + " / " + path, self.tracks[up]["parent"]
            yield {"track": path, "kind": track["kind"],
                   "slices": [event for event in self.events[uuid] if event[1] is not None],
                   "instants": [event for event in self.events[uuid] if event[1] is None],
                   "values": self.counts[uuid]}
        yield {"samples": self.samples, "flows": sorted(ends[0][1] + " -> " + ends[1][1] for ends in self.flows.values())}


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        for line in Trace(file.read()).say():
            print(json.dumps(line))
