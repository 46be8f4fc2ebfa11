/* SPDX-License-Identifier: Apache-2.0 */
/* Talk for the person at the terminal: stderr, one line a message, "wprof: " in front. Products go to stdout.
 */
#ifndef WPROF_BASE_LOG_H
#define WPROF_BASE_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level); /* default LOG_INFO */
enum log_level log_get_level(void);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
