"""`python -m tests.wire.make_golden`: write the bytes of new vectors into `golden.json`.

Vectors that the file has keep their bytes, whatever the code makes of them now: a difference is
for `test_golden.py` to find. To change an encoding give it a new kind or version, and new
vectors; the old ones stay.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeAlias

from quorumcast.core.messages import Message
from quorumcast.wire import Sealer, encode_payload, kinds
from tests.wire.vectors import FRAMES, KEY, VECTORS

PATH = Path(__file__).with_name("golden.json")

Entry: TypeAlias = dict[str, str | int]
Golden: TypeAlias = dict[str, dict[str, Entry]]


def load() -> Golden:
    """What the file has: messages and frames by name."""
    if not PATH.exists():
        return {"messages": {}, "frames": {}}
    return json.loads(PATH.read_text(encoding="utf-8"))


def message_entry(description: str, message: Message) -> Entry:
    """A message's vector: kind, description, payload and detached bytes in hex."""
    number = {type_: kind for kind, type_ in kinds().items()}[type(message)]
    payload, detached = encode_payload([message])
    title = type(message).__name__
    return {
        "kind": number,
        "description": f"{title}: {description}" if description else title,
        "payload": payload.hex(),
        "detached": b"".join(detached).hex(),
    }


def frame_entries() -> dict[str, Entry]:
    """The vectors of all frames, in order, from one sealer."""
    sealer = Sealer(KEY)
    return {
        name: {
            "description": description,
            "frame": sealer.seal([VECTORS[each].message for each in names]).hex(),
        }
        for name, (description, names) in FRAMES.items()
    }


def extend(golden: Golden) -> list[str]:
    """Add the vectors that are missing, and return their names."""
    messages = {name: message_entry(*vector) for name, vector in VECTORS.items()}
    added: list[str] = []
    for section, entries in (("messages", messages), ("frames", frame_entries())):
        missing = {name: entry for name, entry in entries.items() if name not in golden[section]}
        golden[section].update(missing)
        added += missing
    return added


def main() -> None:
    """Extend the file."""
    golden = load()
    added = extend(golden)
    text = json.dumps(golden, indent=1, ensure_ascii=False)
    PATH.write_text(text + "\n", encoding="utf-8")
    print("added:", ", ".join(added) or "nothing")


if __name__ == "__main__":
    main()
