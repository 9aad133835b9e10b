/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 well-formedness (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef MHCS_TRACE_UTF8_H
#define MHCS_TRACE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length of the well-formed sequence that starts at `s`, of which `size` bytes may be read; 0 if
 * there is none. */
static inline size_t mhcs_utf8_sequence(const uint8_t *s, size_t size)
{
    if (size == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    const size_t length = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > size)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

#endif
