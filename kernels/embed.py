#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a binary file as a C array of 64-bit words: embed.py INPUT NAME > OUTPUT.c

The words keep the array 8-byte aligned, as cuModuleLoadData wants it. (.incbin would be shorter, but ninja then
keeps the old object when only the binary changes.)
"""
import struct
import sys

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
