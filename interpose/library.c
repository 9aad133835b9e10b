/* SPDX-License-Identifier: Apache-2.0 */
/* One entry per loaded cuBLAS or cuBLASLt: its getters, its path, its version. */
#include "interpose/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>

struct mhcs_library {
    const struct link_map *map; /* identity; valid for ever, since the library is pinned */
    __typeof__(cublasGetStream_v2) *get_stream;
    __typeof__(cublasGetPointerMode_v2) *get_pointer_mode;
    __typeof__(cublasGetMathMode) *get_math_mode;
    __typeof__(cublasGetVersion_v2) *get_version;
    __typeof__(cublasLtGetVersion) *lt_get_version;
    __typeof__(cublasLtMatrixLayoutGetAttribute) *lt_get_layout;
    __typeof__(cublasLtMatmulDescGetAttribute) *lt_get_operation;
    __typeof__(cublasLtMatmulAlgoConfigGetAttribute) *lt_get_algorithm;
    /* NULL until the first sampled call; then set once by whichever thread wins (release). */
    _Atomic(const struct mhcs_cublas *) cublas;
    struct mhcs_library *next; /* written before publication */
};

/* Grows at the head: pushed by any thread (release), walked by any (acquire), never shrinks. No
 * mutex, because a fork while another thread holds one would leave the child waiting for ever. */
static _Atomic(struct mhcs_library *) libraries;

static struct mhcs_library *find(const struct link_map *map)
{
    struct mhcs_library *library = atomic_load_explicit(&libraries, memory_order_acquire);

    while (library && library->map != map) {
        library = library->next;
    }
    return library;
}

/* The library's own function of that name. The search starts at the library itself, so another
 * cuBLAS in the process can't answer for it. */
static void *own_function(void *pin, const struct link_map *map, const char *name)
{
    void *const address = dlsym(pin, name);
    struct link_map *holder;
    Dl_info info;

    if (!address || !dladdr1(address, &info, (void **)&holder, RTLD_DL_LINKMAP)) {
        return NULL;
    }
    return holder == map ? address : NULL;
}

static struct mhcs_library *add(const struct link_map *map)
{
    /* RTLD_NOLOAD: a second count on what is mapped already, never a fresh load. The main program's
     * name is empty and stands for its handle. */
    void *const pin = dlopen(map->l_name[0] ? map->l_name : NULL, RTLD_LAZY | RTLD_NOLOAD);
    struct mhcs_library *const library = pin ? calloc(1, sizeof(*library)) : NULL;
    struct mhcs_library *head;

    if (!library) {
        return NULL;
    }
    library->map = map;
    library->get_stream = own_function(pin, map, "cublasGetStream_v2");
    library->get_pointer_mode = own_function(pin, map, "cublasGetPointerMode_v2");
    library->get_math_mode = own_function(pin, map, "cublasGetMathMode");
    library->get_version = own_function(pin, map, "cublasGetVersion_v2");
    library->lt_get_version = own_function(pin, map, "cublasLtGetVersion");
    library->lt_get_layout = own_function(pin, map, "cublasLtMatrixLayoutGetAttribute");
    library->lt_get_operation = own_function(pin, map, "cublasLtMatmulDescGetAttribute");
    library->lt_get_algorithm = own_function(pin, map, "cublasLtMatmulAlgoConfigGetAttribute");

    head = atomic_load_explicit(&libraries, memory_order_acquire);
    do {
        struct mhcs_library *const other = find(map);

        if (other) { /* another thread was faster */
            free(library);
            return other;
        }
        library->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&libraries, &head, library,
                                                    memory_order_release, memory_order_acquire));
    return library;
}

struct mhcs_library *mhcs_library_of(const void *function)
{
    struct link_map *map;
    struct mhcs_library *library;
    Dl_info info;

    if (!dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP)) {
        return NULL;
    }
    library = find(map);
    return library ? library : add(map);
}

bool mhcs_library_handle_state(const struct mhcs_library *library, cublasHandle_t handle,
                               struct mhcs_handle_state *state)
{
    cudaStream_t stream;
    cublasPointerMode_t pointer_mode;

    if (!library->get_stream || !library->get_pointer_mode || !library->get_math_mode) {
        return false;
    }
    if (library->get_stream(handle, &stream) != CUBLAS_STATUS_SUCCESS ||
        library->get_pointer_mode(handle, &pointer_mode) != CUBLAS_STATUS_SUCCESS ||
        library->get_math_mode(handle, &state->math_mode) != CUBLAS_STATUS_SUCCESS) {
        return false;
    }
    state->stream = stream;
    state->scalars_on_device = pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
    return true;
}

bool mhcs_library_layout(const struct mhcs_library *library, cublasLtMatrixLayout_t layout,
                         cublasLtMatrixLayoutAttribute_t attribute, void *value, size_t bytes)
{
    size_t written;

    return library->lt_get_layout && layout &&
           library->lt_get_layout(layout, attribute, value, bytes, &written) ==
               CUBLAS_STATUS_SUCCESS;
}

bool mhcs_library_operation(const struct mhcs_library *library, cublasLtMatmulDesc_t operation,
                            cublasLtMatmulDescAttributes_t attribute, void *value, size_t bytes)
{
    size_t written;

    return library->lt_get_operation && operation &&
           library->lt_get_operation(operation, attribute, value, bytes, &written) ==
               CUBLAS_STATUS_SUCCESS;
}

bool mhcs_library_algorithm(const struct mhcs_library *library, const cublasLtMatmulAlgo_t *algo,
                            cublasLtMatmulAlgoConfigAttributes_t attribute, void *value,
                            size_t bytes)
{
    size_t written;

    return library->lt_get_algorithm && algo &&
           library->lt_get_algorithm(algo, attribute, value, bytes, &written) ==
               CUBLAS_STATUS_SUCCESS;
}

static int version_of(const struct mhcs_library *library, cublasHandle_t handle)
{
    int version = 0;

    if (library->get_version) {
        return library->get_version(handle, &version) == CUBLAS_STATUS_SUCCESS ? version : 0;
    }
    return library->lt_get_version ? (int)library->lt_get_version() : 0;
}

const struct mhcs_cublas *mhcs_library_cublas(struct mhcs_library *library, cublasHandle_t handle)
{
    const struct mhcs_cublas *known = atomic_load_explicit(&library->cublas, memory_order_acquire);
    struct mhcs_cublas *fresh;

    if (known) {
        return known;
    }
    fresh = calloc(1, sizeof(*fresh));
    if (!fresh) {
        return NULL;
    }
    fresh->path = library->map->l_name;
    fresh->version = version_of(library, handle);
    if (!atomic_compare_exchange_strong_explicit(&library->cublas, &known, fresh,
                                                 memory_order_release, memory_order_acquire)) {
        free(fresh);
        return known;
    }
    return fresh;
}
