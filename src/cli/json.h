/* A writer of JSON. Keys are NULL inside arrays. Text that is not UTF-8 gets replacement characters; numbers that JSON
 * does not have (NaN, infinities) become null. */
#ifndef TG_CLI_JSON_H
#define TG_CLI_JSON_H

#include <stdbool.h>
#include <stdio.h>

typedef struct tg_cli_json
{
    FILE *file;
    int depth;
    bool filled; /* the object or array that is open has an entry */
} tg_cli_json;

void tg_cli_json_open(tg_cli_json *json, const char *key, char bracket);
void tg_cli_json_close(tg_cli_json *json, char bracket);
void tg_cli_json_text(tg_cli_json *json, const char *key, const char *value);
void tg_cli_json_integer(tg_cli_json *json, const char *key, int value);
void tg_cli_json_number(tg_cli_json *json, const char *key, double value);
void tg_cli_json_flag(tg_cli_json *json, const char *key, bool value);

/* n numbers as an array in one line; a single one as a number where scalar is set */
void tg_cli_json_numbers(tg_cli_json *json, const char *key, const double *values, int n, bool scalar);

#endif
