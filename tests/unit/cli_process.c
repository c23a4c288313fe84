/* Children: exit codes, signals, time limits, a signal to castnet itself; the folder is gone afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/process.h"

typedef struct Room {
  Arena *a;
  Diags d;
  Workdir *w;
} Room;

static Room room_new(void) {
  Room r = {.a = arena_new(NULL, 0)};
  r.d.arena = r.a;
  r.w = workdir_open(r.a, &r.d, NULL);
  assert_non_null(r.w);
  return r;
}

static Command shell(Room *r, const char *text, const char *output) {
  const char **argv = NEW_ARRAY(r->a, const char *, 4);
  argv[0] = "sh";
  argv[1] = "-c";
  argv[2] = text;
  return (Command){.argv = argv, .output = workdir_file(r->a, r->w, output), .seconds = 20};
}

static void outcomes(void **state) {
  (void)state;
  Room r = room_new();
  Command c[] = {shell(&r, "exit 3", "a"), shell(&r, "kill -SEGV $$", "b"), shell(&r, "sleep 30 & sleep 30", "c"),
                 shell(&r, "echo out; echo err >&2", "d"), {.argv = (const char *[]){"castnet-has-no-such-program", NULL}}};
  c[2].seconds = 0.2;
  c[4].output = workdir_file(r.a, r.w, "e");
  assert_true(commands_run(r.w, r.a, c, 5, 2));
  assert_int_equal(c[0].exit_code, 3);
  assert_int_equal(c[1].signal, SIGSEGV);
  assert_true(c[2].timed_out);
  assert_int_equal(c[3].exit_code, 0);
  assert_true(c[4].start_error != 0 || c[4].exit_code == 127);
  Str text;
  assert_true(file_map(r.a, &r.d, c[3].output, &text));
  assert_true(str_is(text, "out\nerr\n"));
  const char *path = arena_cstr(r.a, str_c(workdir_path(r.w)));
  workdir_close(r.w);
  assert_int_not_equal(access(path, F_OK), 0);
  arena_free(r.a);
}

static void interruption(void **state) {
  (void)state;
  Room r = room_new();
  Command c = shell(&r, "sleep 30", "a");
  (void)kill(getpid(), SIGTERM);
  assert_false(commands_run(r.w, r.a, &c, 1, 1));
  assert_int_equal(workdir_signal(r.w), SIGTERM);
  assert_int_equal(c.signal, SIGKILL);
  arena_free(r.a); /* closes the folder */
}

static void words(void **state) {
  (void)state;
  Arena *a = arena_new(NULL, 0);
  Words w = {0};
  words_add(a, &w, "  ccache  gcc -m32 ");
  assert_int_equal(w.list.n, 3);
  assert_string_equal(w.list.data[1], "gcc");
  words_add(a, &w, "");
  assert_int_equal(w.list.n, 3);
  arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(outcomes), cmocka_unit_test(interruption), cmocka_unit_test(words)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
