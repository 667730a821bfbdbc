/* Numbers in text, the same in every locale. */
#ifndef TG_MODEL_NUMBER_H
#define TG_MODEL_NUMBER_H

#include <stdbool.h>

/* Reads one decimal number at *text and moves *text behind it. Correctly rounded. "inf" and "nan", in any case and with
 * a sign, are numbers here; it is for the caller to refuse them. False when there is no number. */
bool tg_number_real(const char **text, double *value);

/* Reads one integer that fits an int. */
bool tg_number_integer(const char **text, int *value);

bool tg_is_space(char c);
const char *tg_skip_space(const char *text);

#endif
