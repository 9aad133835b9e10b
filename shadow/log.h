/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines of the preload library: to stderr or to the file of MHCSHADOW_LOG, one write(2) a line,
 * never to stdout. Not for application threads once the engine is armed: those count, the writer
 * thread speaks. */
#ifndef MHCS_LOG_H
#define MHCS_LOG_H

enum mhcs_log_level { MHCS_LOG_OFF, MHCS_LOG_ERROR, MHCS_LOG_WARN, MHCS_LOG_INFO, MHCS_LOG_DEBUG };

/* `file` may hold %h (host) and %p (pid); NULL: stderr. The file is opened at the first line. */
void mhcs_log_configure(enum mhcs_log_level level, const char *file);

/* Writes "mhcshadow[PID]: LEVEL: text\n"; keeps errno. */
void mhcs_log(enum mhcs_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
