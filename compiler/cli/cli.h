/* The command line: a client of castnet.h, one file a subcommand, one table of options. */
#ifndef CASTNET_CLI_H
#define CASTNET_CLI_H

#include "base/base.h"
#include "base/diag.h"
#include "castnet.h"

typedef enum CommandId {
#define COMMAND(word, operands, summary, text) CMD_##word,
#include "cli/commands.def"
#undef COMMAND
  CMD_COUNT
} CommandId;

#define ON(word) (1u << CMD_##word)
#define MODEL_COMMANDS (ON(compile) | ON(check) | ON(run) | ON(bench) | ON(inspect))
#define ALL_COMMANDS (~0u)

typedef enum OptionId {
#define OPTION(id, word, letter, argument, commands, text) OPT_##id,
#include "cli/options.def"
#undef OPTION
  OPT_COUNT
} OptionId;

typedef struct OptionRow {
  const char *word;
  char letter;          /* 0: none */
  const char *argument; /* NULL: a switch */
  unsigned commands;
  const char *text;
} OptionRow;
extern const OptionRow option_rows[OPT_COUNT];

typedef struct Cli Cli;
typedef struct CommandRow {
  const char *word, *operands, *summary, *text;
  int (*run)(Cli *c); /* returns the exit code, diagnostics in c->diags included */
} CommandRow;
extern const CommandRow command_rows[CMD_COUNT];

typedef struct OptionUse {
  OptionId id;
  const char *value; /* NULL for a switch */
} OptionUse;

struct Cli {
  Arena *arena;
  Diags diags; /* of the command line and of data sets; those of models are their castnet's */
  CommandId command;
  VEC(OptionUse) uses;
  VEC(const char *) words; /* operands */
  bool colour;             /* of standard error */
  bool terminal;           /* standard error is one */
  struct Progress *progress; /* of what is being done; NULL: nothing long */
  int interrupted;         /* the signal that asked castnet to end; 0: none */
};

/* ---- options.c: the tables above, and what was typed ---- */
/* argv without the program's name. False after E0001. */
bool options_parse(Cli *c, int argc, char **argv);
bool options_has(const Cli *c, OptionId id);
const char *options_last(const Cli *c, OptionId id); /* NULL when not given */
/* A number in [lo, hi], `absent` when not given; false after E0001. */
bool options_number(Cli *c, OptionId id, uint64_t lo, uint64_t hi, uint64_t absent, uint64_t *ret);
BASE_PRINTF(2, 3) bool usage_error(Cli *c, const char *fmt, ...); /* E0001; returns false */
/* --threads: the word for the compiler or NULL, and the number or 0; false after E0001. */
bool options_threads(Cli *c, const char **ret_word, uint64_t *ret);
/* The options that go to the compiler. False after E0001. */
bool options_compile(Cli *c, castnet_options *ret);
/* The word of the list that is nearest to what was typed, or NULL. */
const char *options_nearest(const char *typed, const char *const *words, size_t n);

/* ---- help.c ---- */
void help_overview(StrBuf *b);
void help_command(StrBuf *b, CommandId command);
void help_man(StrBuf *b);
void help_completion(StrBuf *b);

/* ---- output.c ---- */
void print_out(const StrBuf *b); /* to standard output */
void print_diags(const Cli *c, const Diags *d);
void print_model_diags(const Cli *c, const castnet *m);

#define COMMAND(word, operands, summary, text) int cmd_##word(Cli *c);
#include "cli/commands.def"
#undef COMMAND

#endif
