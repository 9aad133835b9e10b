/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/number.h"

#include <string.h>

bool mhcs_number_integer(const char *text, size_t length, uint64_t *value)
{
    uint64_t sum = 0;

    if (length == 0) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        const unsigned digit = (unsigned)(unsigned char)text[i] - '0';

        if (digit > 9 || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, digit, &sum)) {
            return false;
        }
    }
    *value = sum;
    return true;
}

/* Up to 15 digits behind leading zeros, and a power of ten up to 10^22, are exact doubles, so the
 * quotient is rounded once, as strtod would. */
static bool decimal(const char *text, size_t length, double scale, double *value)
{
    uint64_t digits = 0;
    bool any = false, fraction = false;

    for (size_t i = 0; i < length; i++) {
        const unsigned digit = (unsigned)(unsigned char)text[i] - '0';

        if (text[i] == '.' && !fraction) {
            fraction = true;
        } else if (digit <= 9 && digits < UINT64_C(100000000000000) && scale < 1e22) {
            digits = digits * 10 + digit;
            any = true;
            scale *= fraction ? 10 : 1;
        } else {
            return false;
        }
    }
    if (!any) {
        return false;
    }
    *value = (double)digits / scale;
    return true;
}

bool mhcs_number_share(const char *text, size_t length, double *value)
{
    const char *const slash = memchr(text, '/', length);
    uint64_t over, under;

    if (slash) {
        const size_t left = (size_t)(slash - text);

        if (!mhcs_number_integer(text, left, &over) ||
            !mhcs_number_integer(slash + 1, length - left - 1, &under) || under == 0) {
            return false;
        }
        *value = (double)over / (double)under;
        return true;
    }
    if (length > 0 && text[length - 1] == '%') {
        return decimal(text, length - 1, 100, value);
    }
    return decimal(text, length, 1, value);
}
