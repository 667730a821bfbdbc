/* How the rows of a table are written. For the files that have one. */
#ifndef TG_READ_TABLE_ROWS_H
#define TG_READ_TABLE_ROWS_H

#include "read/table.h"

#define REALS(structure, field, n) .type = TG_TABLE_REAL, .count = n, .offset = offsetof(structure, field)
#define REAL(structure, field) REALS(structure, field, 1)
#define INTEGERS(structure, field, n) .type = TG_TABLE_INTEGER, .count = n, .offset = offsetof(structure, field)
#define INTEGER(structure, field) INTEGERS(structure, field, 1)
#define WORD(structure, field, list) .type = TG_TABLE_WORD, .words = list, .offset = offsetof(structure, field)
#define TEXT(structure, field) .type = TG_TABLE_TEXT, .offset = offsetof(structure, field)
#define END                                                                                                            \
    {                                                                                                                  \
        .name = NULL                                                                                                   \
    }
#define AS(n, h) .name = n, .handling = h
#define ROW(d, n, h) .depth = d, .name = n, .handling = h

#define HONOURED TG_TABLE_HONOURED
#define APPROXIMATED TG_TABLE_APPROXIMATED
#define IGNORED TG_TABLE_IGNORED
#define NOTED TG_TABLE_NOTED
#define QUIET TG_TABLE_QUIET
#define UNSUPPORTED TG_TABLE_UNSUPPORTED

#endif
