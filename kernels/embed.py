#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a file as C: embed.py INPUT NAME > OUTPUT.c as an array of 64-bit words, embed.py --text INPUT NAME as a string.

The words keep the array 8-byte aligned, as cuModuleLoadData wants it. (.incbin would be shorter, but ninja then
keeps the old object when only the binary changes.)
"""
import struct
import sys

if sys.argv[1] == "--text":
    name = sys.argv[3]
    print(f"extern const char {name}[];\nconst char {name}[] =")
    for line in open(sys.argv[2], encoding="ascii"):
        print('    "' + line.rstrip("\n").replace("\\", "\\\\").replace('"', '\\"') + '\\n"')
    print("    ;")
    sys.exit(0)

data = open(sys.argv[1], "rb").read()
name = sys.argv[2]
data += b"\0" * (-len(data) % 8)
words = struct.unpack(f"<{len(data) // 8}Q", data)
print("#include <stdint.h>\n")
print(f"extern const uint64_t {name}[];")
print(f"const uint64_t {name}[{len(words)}] = {{")
for i in range(0, len(words), 4):
    print("    " + " ".join(f"0x{w:016x}," for w in words[i : i + 4]))
print("};")
