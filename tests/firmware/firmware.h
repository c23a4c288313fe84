#ifndef FIRMWARE_H
#define FIRMWARE_H

#include <stdint.h>

void firmware_print(const char *text); /* on the debugger's terminal (semihosting) */
void firmware_exit(int code);

#endif
