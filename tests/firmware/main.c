/* Runs a model on recorded inputs and compares; measures the stack by painting it, and instructions by SysTick, which counts one
 * tick for every 40 of qemu's -icount shift=0 at 25 MHz. run.py writes case.h: model.h included, the data, MODEL_INPUTS,
 * MODEL_OUTPUTS (initialisers), OUTPUTS (rows of {got, wanted, elements, whether float}), ATOL, RTOL. */
#include "firmware.h"

#include <stddef.h>

typedef struct Output {
  const void *got, *want;
  size_t n, size; /* elements, bytes of one; float where size is 0 */
} Output;

#include "case.h"

extern uint32_t stack_bottom[];
enum { PAINT = 0x5a5aa5a5, INSTRUCTIONS_A_TICK = 40 };

static volatile uint32_t *const systick = (volatile uint32_t *)0xe000e010u; /* control, reload, value */

static void print_number(const char *what, uint32_t v) {
  char text[12];
  size_t i = sizeof text;
  text[--i] = 0;
  text[--i] = '\n';
  do text[--i] = (char)('0' + v % 10);
  while ((v /= 10) != 0);
  firmware_print(what);
  firmware_print(text + i);
}

static uint32_t *stack_pointer(void) {
  uint32_t *sp;
  __asm__ volatile("mov %0, sp" : "=r"(sp));
  return sp;
}

static int differs(const Output *o) {
  for (size_t i = 0; o->size && i < o->n * o->size; i++)
    if (((const unsigned char *)o->got)[i] != ((const unsigned char *)o->want)[i]) return 1;
  for (size_t i = 0; !o->size && i < o->n; i++) {
    const float got = ((const float *)o->got)[i], want = ((const float *)o->want)[i];
    const float off = got > want ? got - want : want - got;
    if (!(off <= ATOL + RTOL * (want < 0.0f ? -want : want))) return 1;
  }
  return 0;
}

int main(void) {
  static const model_inputs in = MODEL_INPUTS;
  static model_outputs out = MODEL_OUTPUTS;
  static unsigned char workspace[model_WORKSPACE_SIZE] __attribute__((aligned(model_WORKSPACE_ALIGN)));
  static const Output outputs[] = {OUTPUTS};
  uint32_t *const here = stack_pointer();
  for (volatile uint32_t *p = stack_bottom; p < here; p++) *p = PAINT;
  systick[1] = 0xffffff;
  systick[2] = 0;
  systick[0] = 5; /* on, the processor's clock, no interrupt */
  const int status = model_run(&in, &out, workspace, sizeof workspace, NULL);
  const uint32_t ticks = 0xffffff - systick[2];
  volatile uint32_t *lowest = stack_bottom;
  while (lowest < here && *lowest == PAINT) lowest++;
  print_number("status ", (uint32_t)status);
  print_number("stack ", (uint32_t)(((uintptr_t)here - (uintptr_t)lowest)));
  print_number("instructions ", ticks * INSTRUCTIONS_A_TICK);
  int wrong = status != 0;
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) wrong |= differs(&outputs[i]);
  firmware_print(wrong ? "differs\n" : "agrees\n");
  return wrong;
}
