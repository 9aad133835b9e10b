/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow/cublas_functions.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

const char *mhcs_cublas_functions_find(struct mhcs_cublas_functions *ret_functions, void *library)
{
    static const struct {
        const char *name;
        size_t offset;
    } entries[] = {
#define ENTRY(name) {#name, offsetof(struct mhcs_cublas_functions, name)},
        MHCS_CUBLAS_ENTRIES(ENTRY)
#undef ENTRY
    };

    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        void *const function = dlsym(library, entries[i].name);

        if (!function) {
            return entries[i].name;
        }
        memcpy((char *)ret_functions + entries[i].offset, &function, sizeof(function));
    }
    return NULL;
}
