/* castnet COMMAND ... */
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static CommandId find_command(const char *word) {
  size_t i = 0;
  while (i < CMD_COUNT && strcmp(command_rows[i].word, word) != 0) i++;
  return (CommandId)i;
}

static int unknown_command(Cli *c, const char *word) {
  const char *words[CMD_COUNT];
  for (size_t i = 0; i < CMD_COUNT; i++) words[i] = command_rows[i].word;
  const char *near = options_nearest(word, words, CMD_COUNT), *shown = diag_quote(&c->diags, str_c(word));
  if (near) (void)usage_error(c, "there is no command %s; did you mean %s?", shown, near);
  else (void)usage_error(c, "there is no command %s", shown);
  return 0;
}

static int run_command(Cli *c, int argc, char **argv) {
  StrBuf b = sb_new(c->arena);
  if (argc < 2) return usage_error(c, "which command?");
  const char *word = argv[1];
  if (strcmp(word, "--version") == 0) {
    sb_puts(&b, "castnet " CASTNET_VERSION "\n");
    print_out(&b);
    return 0;
  }
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) word = "help";
  c->command = find_command(word);
  if (c->command == CMD_COUNT) return unknown_command(c, word);
  if (!options_parse(c, argc - 2, argv + 2)) return 0;
  if (!options_has(c, OPT_HELP)) return command_rows[c->command].run(c);
  help_command(&b, c->command);
  print_out(&b);
  return 0;
}

/* What left through the door: memory, files, or a bug. */
static int through_door(const Door *door) {
  DiagCode code = door->reason == DOOR_MEMORY ? DIAG_E0004 : door->reason == DOOR_IO ? DIAG_E0003 : DIAG_E0901;
  (void)fprintf(stderr, "error %s: %s\n", diag_rows[code].name, door->text);
  return diag_rows[code].exit_code;
}

int main(int argc, char **argv) {
  Door door = {0};
  Arena *volatile held = NULL;
  if (setjmp(door.env)) {
    arena_free(held);
    return through_door(&door);
  }
  Arena *arena = held = arena_new(&door, 0);
  Cli c = {.arena = arena, .diags = {.arena = arena}, .command = CMD_COUNT, .terminal = isatty(STDERR_FILENO) == 1};
  const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
  c.colour = c.terminal && !(no_colour && *no_colour) && !(term && strcmp(term, "dumb") == 0);
  int status = run_command(&c, argc, argv), own = diags_exit_code(&c.diags);
  print_diags(&c, &c.diags);
  if (own > status) status = own;
  if (fflush(stdout) != 0 || ferror(stdout)) {
    (void)fputs("error E0003: standard output cannot be written\n", stderr);
    status = status ? status : CASTNET_STATUS_ENVIRONMENT;
  }
  arena_free(arena);
  if (c.interrupted) {
    (void)signal(c.interrupted, SIG_DFL);
    (void)raise(c.interrupted);
  }
  return status;
}
