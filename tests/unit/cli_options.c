/* The table of options: parsing, suggestions, the options that go to the compiler. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/cli.h"

static Cli *cli_new(CommandId command) {
  Arena *a = arena_new(NULL, 0);
  Cli *c = NEW(a, Cli);
  *c = (Cli){.arena = a, .diags = {.arena = a}, .command = command};
  return c;
}

static void cli_free(Cli *c) { arena_free(c->arena); }

#define PARSE(c, ...) parse((c), (char *[]){__VA_ARGS__, NULL})
static bool parse(Cli *c, char **argv) {
  int n = 0;
  while (argv[n]) n++;
  return options_parse(c, n, argv);
}

static const char *complaint(const Cli *c) { return c->diags.list.n ? c->diags.list.data[0].text.ptr : ""; }

static void forms(void **state) {
  (void)state;
  Cli *c = cli_new(CMD_compile);
  assert_true(PARSE(c, "-o", "a", "m.onnx", "--name=n=1", "--no-fuse", "-ob", "--", "--weights"));
  assert_string_equal(options_last(c, OPT_OUTPUT), "b");
  assert_string_equal(options_last(c, OPT_NAME), "n=1");
  assert_true(options_has(c, OPT_NO_FUSE));
  assert_false(options_has(c, OPT_WEIGHTS));
  assert_int_equal(c->words.n, 2);
  assert_string_equal(c->words.data[0], "m.onnx");
  assert_string_equal(c->words.data[1], "--weights");
  cli_free(c);
}

static void errors(void **state) {
  (void)state;
  static const struct {
    char *arg;
    const char *want;
  } cases[] = {
      {"--nam", "compile has no option \"--nam\"; did you mean --name?"},
      {"--rtol", "compile has no option \"--rtol\""},
      {"-q", "compile has no option \"-q\""},
      {"--no-fuse=1", "--no-fuse takes no value"},
      {"--name", "--name needs a value: N"},
      {"--completely-different", "compile has no option \"--completely-different\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Cli *c = cli_new(CMD_compile);
    assert_false(PARSE(c, cases[i].arg));
    assert_string_equal(complaint(c), cases[i].want);
    assert_int_equal(diags_exit_code(&c->diags), 2);
    cli_free(c);
  }
}

static void dims_and_ops(void **state) {
  (void)state;
  Cli *c = cli_new(CMD_compile);
  castnet_options o;
  assert_true(PARSE(c, "--dim", "batch=1..8", "--dim", "a=b=4", "--op", "my.domain::Op=my_op", "--max-memory", "3M"));
  assert_true(options_compile(c, &o));
  assert_int_equal(o.n_dims, 2);
  assert_string_equal(o.dims[0].name, "batch");
  assert_int_equal(o.dims[0].lo, 1);
  assert_int_equal(o.dims[0].hi, 8);
  assert_string_equal(o.dims[1].name, "a=b");
  assert_int_equal(o.dims[1].lo, 4);
  assert_int_equal(o.dims[1].hi, 4);
  assert_int_equal(o.n_ops, 1);
  assert_string_equal(o.ops[0].domain, "my.domain");
  assert_string_equal(o.ops[0].type, "Op");
  assert_string_equal(o.ops[0].symbol, "my_op");
  assert_int_equal(o.max_memory, 3 << 20);
  cli_free(c);
}

static void bad_values(void **state) {
  (void)state;
  static char *const cases[][2] = {
      {"--dim", "batch"},       {"--dim", "batch=8..1"}, {"--dim", "batch=-1..1"},
      {"--dim", "=1"},          {"--dim", "n=1..2x"},    {"--dim", "n=99999999999999999999"},
      {"--op", "a::b"},         {"--op", "b=c"},         {"--op", "a::b=c d"},
      {"--op", "a::=c"},        {"--op", "a::b=1c"},     {"--max-memory", "12Q"},
      {"--max-memory", "0"},    {"--max-memory", "-1"},  {"--max-memory", "99999999999999999999G"},
      {"--max-memory", "M"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Cli *c = cli_new(CMD_compile);
    castnet_options o;
    assert_true(PARSE(c, cases[i][0], cases[i][1]));
    assert_false(options_compile(c, &o));
    assert_int_equal(diags_exit_code(&c->diags), 2);
    cli_free(c);
  }
}

static void suggestions(void **state) {
  (void)state;
  static const char *const words[] = {"compile", "check", "run", "targets"};
  assert_string_equal(options_nearest("chek", words, 4), "check");
  assert_string_equal(options_nearest("complie", words, 4), "compile");
  assert_string_equal(options_nearest("target", words, 4), "targets");
  assert_null(options_nearest("frobnicate", words, 4));
  assert_null(options_nearest("", words, 4));
}

/* Every option has a command that takes it, and letters are free within each command. */
static void table(void **state) {
  (void)state;
  for (size_t i = 0; i < OPT_COUNT; i++) {
    assert_true(option_rows[i].commands & ((1u << CMD_COUNT) - 1));
    for (size_t k = 0; k < i; k++) {
      bool together = (option_rows[i].commands & option_rows[k].commands) != 0;
      assert_string_not_equal(option_rows[i].word, option_rows[k].word);
      assert_false(together && option_rows[i].letter && option_rows[i].letter == option_rows[k].letter);
    }
  }
}

/* All that help, the manual and completion say comes from the table: each option stands in each. */
static void help(void **state) {
  (void)state;
  Cli *c = cli_new(CMD_help);
  StrBuf man = sb_new(c->arena), completion = sb_new(c->arena);
  help_man(&man);
  help_completion(&completion);
  for (size_t i = 0; i < CMD_COUNT; i++) {
    StrBuf b = sb_new(c->arena);
    help_command(&b, (CommandId)i);
    for (size_t k = 0; k < OPT_COUNT; k++) {
      Str word = arena_printf(c->arena, "--%s", option_rows[k].word);
      bool taken = (option_rows[k].commands & (1u << i)) != 0;
      if (taken) assert_non_null(strstr(b.data, word.ptr));
      assert_non_null(strstr(completion.data, word.ptr));
    }
    for (const char *line = b.data; *line; line += strcspn(line, "\n") + 1) assert_true(strcspn(line, "\n") <= 110);
    assert_non_null(strstr(man.data, command_rows[i].word));
  }
  cli_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forms),       cmocka_unit_test(errors), cmocka_unit_test(dims_and_ops), cmocka_unit_test(bad_values),
      cmocka_unit_test(suggestions), cmocka_unit_test(table),  cmocka_unit_test(help),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
