// SPDX-License-Identifier: Apache-2.0
// Does not compile if hooks.h differs from the toolkit's prototypes: in C++ the toolkit declares
// the half precision functions too, and a C function can't be declared twice with two types.
#include <cublas_v2.h>

#include "interpose/hooks.h"

extern "C" {
#define HOOK(name, family, index) mhcs_type_##name name;
MHCS_HOOKS(HOOK)
#undef HOOK
}
