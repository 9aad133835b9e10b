/* SPDX-License-Identifier: Apache-2.0 */
/* The environment, as settings. doc/design.md section 9 lists the variables. */
#ifndef MHCS_ENV_H
#define MHCS_ENV_H

#include <stdbool.h>

#include "shadow/shadow.h"

/* Fills *settings from a list of NAME=VALUE strings ending in NULL, and configures the log. What
 * can't be understood or is not in this version is named in one warning each, and the default
 * stands. */
void mhcs_env_read(char *const *environment, struct mhcs_settings *settings);

/* False under NVIDIA_TF32_OVERRIDE=0, with which cuBLAS never uses TF32. */
bool mhcs_env_tf32_allowed(char *const *environment);

#endif
