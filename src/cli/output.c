/* Text in colours where the reader has them. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const char *const escapes[] = {
    [TG_CLI_PLAIN] = "",        [TG_CLI_TITLE] = "\033[1m", [TG_CLI_NAME] = "\033[1;36m",  [TG_CLI_KIND] = "\033[33m",
    [TG_CLI_QUIET] = "\033[2m", [TG_CLI_GOOD] = "\033[32m", [TG_CLI_WARNING] = "\033[33m", [TG_CLI_BAD] = "\033[1;31m",
};
_Static_assert(sizeof escapes / sizeof *escapes == TG_CLI_STYLE_COUNT, "one escape a style");

/* The value of a variable; NULL if it is not there, or empty. */
static const char *value_of(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* LC_ALL, LC_CTYPE, LANG: the first that is set says which characters there are. */
static bool locale_is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    {
        const char *value = value_of(variables[i]);
        if (value != NULL)
            return strstr(value, "UTF-8") != NULL || strstr(value, "utf8") != NULL || strstr(value, "utf-8") != NULL;
    }
    return false;
}

tg_cli_output tg_cli_output_of(FILE *file)
{
    const char *term = getenv("TERM");
    tg_cli_output out = {.file = file, .terminal = isatty(fileno(file)) != 0, .utf8 = locale_is_utf8()};
    bool dumb = term == NULL || strcmp(term, "dumb") == 0;
    out.colour = out.terminal && !dumb && value_of("NO_COLOR") == NULL;
    return out;
}

void tg_cli_print(const tg_cli_output *out, tg_cli_style style, const char *format, ...)
{
    bool coloured = out->colour && style != TG_CLI_PLAIN;
    va_list arguments;
    if (coloured)
        fputs(escapes[style], out->file);
    va_start(arguments, format);
    vfprintf(out->file, format, arguments);
    va_end(arguments);
    if (coloured)
        fputs("\033[0m", out->file);
}

int tg_cli_width(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

void tg_cli_column(const tg_cli_output *out, tg_cli_style style, const char *text, int width)
{
    int space = width - tg_cli_width(text);
    tg_cli_print(out, style, "%s", text);
    fprintf(out->file, "%*s", space > 0 ? space : 0, "");
}

tg_cli_number tg_cli_number_of(double x)
{
    tg_cli_number number;
    for (int digits = 15; digits <= 17; digits++)
    {
        snprintf(number.text, sizeof number.text, "%.*g", digits, x);
        if (strtod(number.text, NULL) == x)
            break;
    }
    return number;
}
