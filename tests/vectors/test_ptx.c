/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped PTX holds nothing that would let GPU and host differ (approximate or fused
 * arithmetic) or that the kernels are to do without (fp64, local memory, calls).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/fatbin.h"
#include "ptx.h"

static const char *const forbidden[] = {".approx", "fma.", "mad.f32", ".ftz", ".f64",
                                        ".local",  "call", ".tf32",   "mma."};

/* The instruction of a line, past its guard; NULL for directives, labels and comments. */
static const char *instruction(const char *line)
{
    line += strspn(line, " \t{");
    if (*line == '@')
        line += strcspn(line, " \t"), line += strspn(line, " \t");
    return *line >= 'a' && *line <= 'z' ? line : NULL;
}

static int check_arch(uint32_t arch)
{
    char err[256];
    char *const text = fatbin_ptx(mhcs_kernels_fatbin, arch, err, sizeof(err));
    int bad = 0, instructions = 0;
    if (!text) {
        fprintf(stderr, "sm_%u: %s\n", arch, err);
        return 1;
    }
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        const char *const name = instruction(line);
        const size_t length = name ? strcspn(name, " \t;") : 0;
        instructions += name != NULL;
        for (size_t i = 0; name && i < sizeof(forbidden) / sizeof(*forbidden); i++)
            if (memmem(name, length, forbidden[i], strlen(forbidden[i]))) {
                fprintf(stderr, "sm_%u: %s\n", arch, line);
                bad++;
            }
    }
    free(text);
    printf("PTX for sm_%u: %d instructions, %d not wanted\n", arch, instructions, bad);
    return bad + (instructions < 1000); /* else it was not the PTX that was read */
}

int main(void)
{
    return check_arch(80) + check_arch(120) != 0;
}
