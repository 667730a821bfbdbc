#include "cli/json.h"

#include <math.h>

#include "cli/cli.h"

/* ---- text ---- */

/* Bytes of the UTF-8 character that starts here, 0 if there is none: not too long, no surrogate, at most U+10FFFF. */
static int character_bytes(const unsigned char *s)
{
    int n = s[0] < 0x80                   ? 1
            : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
            : (s[0] & 0xf0) == 0xe0       ? 3
            : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                          : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool outside = (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf4 && s[1] >= 0x90);
    return n > 2 && (overlong || outside) ? 0 : n;
}

static void write_text(FILE *file, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    fputc('"', file);
    while (*s != '\0')
    {
        int n = character_bytes(s);
        if (n == 0)
            fputs("\\ufffd", file);
        else if (*s == '"' || *s == '\\')
            fprintf(file, "\\%c", *s);
        else if (*s < 0x20 || *s == 0x7f)
            fprintf(file, "\\u%04x", (unsigned)*s);
        else
            fwrite(s, 1, (size_t)n, file);
        s += n > 0 ? n : 1;
    }
    fputc('"', file);
}

static void write_number(FILE *file, double value)
{
    fputs(isfinite(value) ? tg_cli_number_of(value).text : "null", file);
}

/* ---- structure ---- */

static void new_line(const tg_cli_json *json)
{
    fprintf(json->file, "\n%*s", 2 * json->depth, "");
}

static void begin(tg_cli_json *json, const char *key)
{
    if (json->filled)
        fputc(',', json->file);
    if (json->depth > 0)
        new_line(json);
    json->filled = true;
    if (key == NULL)
        return;
    write_text(json->file, key);
    fputs(": ", json->file);
}

void tg_cli_json_open(tg_cli_json *json, const char *key, char bracket)
{
    begin(json, key);
    fputc(bracket, json->file);
    json->depth++;
    json->filled = false;
}

void tg_cli_json_close(tg_cli_json *json, char bracket)
{
    json->depth--;
    if (json->filled)
        new_line(json);
    fputc(bracket, json->file);
    json->filled = true;
    if (json->depth == 0)
        fputc('\n', json->file);
}

void tg_cli_json_text(tg_cli_json *json, const char *key, const char *value)
{
    begin(json, key);
    write_text(json->file, value);
}

void tg_cli_json_integer(tg_cli_json *json, const char *key, int value)
{
    begin(json, key);
    fprintf(json->file, "%d", value);
}

void tg_cli_json_number(tg_cli_json *json, const char *key, double value)
{
    begin(json, key);
    write_number(json->file, value);
}

void tg_cli_json_flag(tg_cli_json *json, const char *key, bool value)
{
    begin(json, key);
    fputs(value ? "true" : "false", json->file);
}

void tg_cli_json_numbers(tg_cli_json *json, const char *key, const double *values, int n, bool scalar)
{
    if (scalar && n == 1)
    {
        tg_cli_json_number(json, key, values[0]);
        return;
    }
    begin(json, key);
    fputc('[', json->file);
    for (int i = 0; i < n; i++)
    {
        if (i > 0)
            fputs(", ", json->file);
        write_number(json->file, values[i]);
    }
    fputc(']', json->file);
}
