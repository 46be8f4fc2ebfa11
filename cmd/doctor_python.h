/* SPDX-License-Identifier: Apache-2.0 */
/* The Python interpreters that a shell would find, and whether their frames can be read. */
#ifndef WPROF_CMD_DOCTOR_PYTHON_H
#define WPROF_CMD_DOCTOR_PYTHON_H

#include "platform/probe.h"

/* Appends one item. No interpreter is run: the files are looked at. */
void doctor_python(struct probe *p);

#endif
