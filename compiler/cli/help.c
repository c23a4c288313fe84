#include "cli/cli.h"

enum { WIDTH = 100 };

/* Words of text in lines of at most WIDTH columns, each behind `indent` blanks; the first line has begun at column `at`. */
static void wrap(StrBuf *b, const char *text, int indent, int at) {
  while (*text) {
    int n = (int)strcspn(text, " ");
    if (at > indent && at + 1 + n > WIDTH) {
      sb_printf(b, "\n%*s", indent, "");
      at = indent;
    } else if (at > indent) {
      sb_putc(b, ' ');
      at++;
    }
    sb_put(b, text, (size_t)n);
    at += n;
    text += n;
    while (*text == ' ') text++;
  }
  sb_putc(b, '\n');
}

void help_overview(StrBuf *b) {
  sb_puts(b, "castnet " CASTNET_VERSION ": casts an ONNX model into standalone C\n\nusage: castnet COMMAND ...\n\n");
  for (size_t i = 0; i < CMD_COUNT; i++) sb_printf(b, "  %-10s%s\n", command_rows[i].word, command_rows[i].summary);
  sb_puts(b, "\n`castnet help COMMAND` lists a command's options; `castnet --version` prints the version.\n"
             "Exit codes: 0 fine, 1 the model or data is at fault, 2 usage, 3 a check disagreed,\n"
             "4 the environment (no C compiler, disk full), 5 a bug in castnet.\n");
}

/* "-o, --output DIR" */
static void option_head(StrBuf *b, const OptionRow *o) {
  if (o->letter) sb_printf(b, "-%c, ", o->letter);
  sb_printf(b, "--%s", o->word);
  if (o->argument) sb_printf(b, " %s", o->argument);
}

static bool takes(CommandId command, size_t option) { return (option_rows[option].commands & (1u << command)) != 0; }

void help_command(StrBuf *b, CommandId command) {
  enum { COLUMN = 30 };
  const CommandRow *row = &command_rows[command];
  sb_printf(b, "usage: castnet %s%s%s [OPTION...]\n\n", row->word, *row->operands ? " " : "", row->operands);
  wrap(b, row->text, 0, 0);
  sb_putc(b, '\n');
  for (size_t i = 0; i < OPT_COUNT; i++) {
    if (!takes(command, i)) continue;
    size_t from = b->len;
    sb_puts(b, option_rows[i].letter ? "  " : "      ");
    option_head(b, &option_rows[i]);
    int used = (int)(b->len - from);
    if (used + 2 > COLUMN) sb_printf(b, "\n%*s", COLUMN, "");
    else sb_printf(b, "%*s", COLUMN - used, "");
    wrap(b, option_rows[i].text, COLUMN, COLUMN);
  }
}

/* ---- manual page ---- */
static void troff(StrBuf *b, const char *s) {
  if (*s == '.' || *s == '\'') sb_puts(b, "\\&");
  for (; *s; s++) {
    if (*s == '\\') sb_puts(b, "\\e");
    else if (*s == '-') sb_puts(b, "\\-");
    else sb_putc(b, *s);
  }
}

static void man_option(StrBuf *b, const OptionRow *o) {
  sb_puts(b, ".TP\n.B ");
  StrBuf head = sb_new(b->arena);
  option_head(&head, o);
  troff(b, head.data);
  sb_putc(b, '\n');
  troff(b, o->text);
  sb_putc(b, '\n');
}

void help_man(StrBuf *b) {
  sb_puts(b, ".TH CASTNET 1 \"\" \"castnet " CASTNET_VERSION "\"\n.SH NAME\ncastnet \\- cast an ONNX model into standalone C\n"
             ".SH SYNOPSIS\n.B castnet\n.I COMMAND\n[\\fIOPTION\\fR...] [\\fIOPERAND\\fR...]\n.SH COMMANDS\n");
  for (size_t i = 0; i < CMD_COUNT; i++) {
    const CommandRow *row = &command_rows[i];
    sb_printf(b, ".SS castnet %s ", row->word);
    troff(b, row->operands);
    sb_putc(b, '\n');
    troff(b, row->text);
    sb_putc(b, '\n');
    for (size_t k = 0; k < OPT_COUNT; k++)
      if (takes((CommandId)i, k)) man_option(b, &option_rows[k]);
  }
  sb_puts(b, ".SH DIAGNOSTICS\n");
  for (size_t i = 0; i < DIAG_COUNT; i++) {
    sb_printf(b, ".TP\n.B %s\n", diag_rows[i].name);
    troff(b, diag_rows[i].title);
    sb_printf(b, " (exit %d).\n", diag_rows[i].exit_code);
    troff(b, diag_rows[i].explanation);
    sb_putc(b, '\n');
  }
}

/* ---- completion ---- */
void help_completion(StrBuf *b) {
  sb_puts(b, "# bash completion for castnet: source this file\n_castnet() {\n"
             "  local word=${COMP_WORDS[COMP_CWORD]} options=\n  if [ \"$COMP_CWORD\" = 1 ]; then\n    options='");
  for (size_t i = 0; i < CMD_COUNT; i++) sb_printf(b, "%s ", command_rows[i].word);
  sb_puts(b, "--version'\n  else\n    case ${COMP_WORDS[1]} in\n");
  for (size_t i = 0; i < CMD_COUNT; i++) {
    sb_printf(b, "      %s) options='", command_rows[i].word);
    const char *sep = "";
    for (size_t k = 0; k < OPT_COUNT; k++)
      if (takes((CommandId)i, k)) {
        sb_printf(b, "%s--%s", sep, option_rows[k].word);
        sep = " ";
      }
    sb_puts(b, "' ;;\n");
  }
  sb_puts(b, "    esac\n  fi\n"
             "  if [ \"$COMP_CWORD\" = 1 ] || [[ $word == -* ]]; then\n    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
             "  else\n    COMPREPLY=($(compgen -f -- \"$word\"))\n  fi\n}\n"
             "complete -o filenames -F _castnet castnet\n");
}

int cmd_help(Cli *c) {
  StrBuf b = sb_new(c->arena);
  if (options_has(c, OPT_MAN)) {
    help_man(&b);
  } else if (options_has(c, OPT_COMPLETION)) {
    help_completion(&b);
  } else if (c->words.n == 0) {
    help_overview(&b);
  } else {
    size_t i = 0;
    while (i < CMD_COUNT && strcmp(command_rows[i].word, c->words.data[0]) != 0) i++;
    if (i == CMD_COUNT) return usage_error(c, "there is no command %s", diag_quote(&c->diags, str_c(c->words.data[0])));
    help_command(&b, (CommandId)i);
  }
  print_out(&b);
  return 0;
}
