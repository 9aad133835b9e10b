/* SPDX-License-Identifier: Apache-2.0 */
/* What is behind the exported driver functions: impl_NAME for each NAME in api_list.h, called with
 * the lock held unless the list says FREE.
 */
#ifndef SIM_API_H
#define SIM_API_H

#include "engine.h"

#define API(base, suffix, since, needs, twin, parameters, arguments)                               \
    CUresult impl_##base##suffix parameters;
#include "api_list.h"
#undef API

#endif
